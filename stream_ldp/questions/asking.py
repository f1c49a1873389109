"""Many users who are assumed by plans, or asked at once, as an evaluation plays them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.evaluation.prediction import USUAL_DEPENDENCE, assumed_records
from stream_ldp.mechanisms import random_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.attributes import AskedAttribute
    from stream_ldp.questions.questions import QuestionSet, Table


def asked_sums(
    questions: QuestionSet[Any],
    people: Table,
    *,
    entropy: Entropy,
    at_once: int,
    chosen: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Ask each user one question, and add up the answers, int64, shape (counters,).

    people: users, one a row.
    at_once: number of users whose answers are in memory at a time.
    chosen: number of the question of each user, shape (n,); drawn by the shares of the questions without it.
    """
    sums = np.zeros(questions.counters, dtype=np.int64)
    for first in range(0, len(people), at_once):
        part = people[first : first + at_once]
        numbers = (
            questions.numbers(random_words(len(part), entropy=entropy))
            if chosen is None
            else chosen[first : first + at_once]
        )
        sums += questions.sums(questions.perturb(numbers, part, entropy=entropy))
    return sums


#: Most users that a plan draws: they are asked and solved for in tenths of a second.
_USERS = 100_000
#: Shape of the gamma distribution of assumed numbers, and how many times its scale a range is: a third of it is the
#: mean. Errors of other distributions are above and below those of this one. With a shape of 3 and 8 times its scale,
#: 84 % of the predictions of `tests.benchmarks.predicted` are from 0.7 to 1.4 times what is measured, and 88 % with
#: these.
_SHAPE, _SCALES = 2.0, 6.0


def assumed_table(attributes: Sequence[AskedAttribute], *, dependence: float = USUAL_DEPENDENCE) -> Table:
    """Draw users: of values as `assumed_records` has them, and of skewed numbers.

    dependence: see `assumed_records`.
    """
    labels = [each.labels if each.range is None else ("",) for each in attributes]
    records = assumed_records([len(each) for each in labels], _USERS, seed=1, dependence=dependence)
    table: Table = np.empty(_USERS, dtype=[(str(place), each.dtype) for place, each in enumerate(attributes)])
    generator = np.random.default_rng(2)
    for place, attribute in enumerate(attributes):
        column = records[:, place]
        if attribute.range is not None:
            least, largest = attribute.bounds
            skewed = np.minimum(generator.gamma(_SHAPE, 1.0 / _SCALES, _USERS), 1.0)
            table[str(place)] = attribute.stepped(least + skewed * (largest - least))
        else:
            table[str(place)] = np.array(attribute.candidates)[column] if attribute.candidates else column
    return table
