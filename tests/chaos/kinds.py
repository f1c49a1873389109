"""This module has the collections that runs are about, one of each kind, and what honest users report to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline import wire
from tests.service import harness

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Kind"]

_WINDOW = "window: {{{{size: {size}, grace: 500ms, idle_timeout: {idle}, {more}}}}}\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of collections.

    text: of the file, with places for its name and its windows.
    batches: makes one good batch of random reports for each event time.
    """

    text: str
    batches: Callable[..., list[bytes]]


def _batches(
    rows_of: Callable[[Any, int, np.random.Generator], NDArray[np.uint8]],
) -> Callable[..., list[bytes]]:
    def batches(collection: Any, times_ms: Sequence[int], *, reports: int, rng: np.random.Generator) -> list[bytes]:
        rows = [rows_of(collection, reports, rng) for _ in times_ms]
        return [
            wire.encode(
                wire.Batch(fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=time_ms, rows=each)
            )
            for time_ms, each in zip(times_ms, rows, strict=True)
        ]

    return batches


def _of_strings(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    entropy, questions = SeededEntropy(int(rng.integers(2**32))), collection.method.questions
    words = [collection.string.encode(word) for word in ("a", "abc", "cab")]
    table = collection.table([words[each] for each in rng.choice(3, reports, p=[0.6, 0.3, 0.1])])
    numbers, seeds = (
        questions.numbers(random_words(reports, entropy=entropy)),
        random_words(reports, entropy=entropy),
    )
    made: NDArray[np.uint8] = questions.perturb(
        numbers, seeds, questions.inputs(numbers, seeds, table), entropy=entropy
    )
    return made


def _of_places(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    table = collection.table([(place, 0, place % 2) for place in rng.integers(5, size=reports).tolist()])
    made: NDArray[np.uint8] = collection.questions.perturb(
        collection.chosen(table), table, entropy=SeededEntropy(int(rng.integers(2**32)))
    )
    return made


def _of_answers(collection: Any, reports: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    entropy = SeededEntropy(int(rng.integers(2**32)))
    table = collection.table([(int(each % 3), float(each), "ab"[each % 2]) for each in rng.integers(9, size=reports)])
    numbers = collection.questions.numbers(random_words(reports, entropy=entropy))
    made: NDArray[np.uint8] = collection.questions.perturb(numbers, table, entropy=entropy)
    return made


#: By name.
KINDS = {
    "records": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}}}
attributes:
  - {{{{name: bathing, values: [no, yes]}}}}
  - {{{{name: mobility, values: [none, some, full]}}}}
"""
        + _WINDOW
        + """{period}estimates:
  - {{{{name: bathing-mobility, of: [bathing, mobility], method: lremh, every: 500ms}}}}
""",
        batches=harness.batches,
    ),
    "strings": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: strings, epsilon: 4, k: 4}}}}
string: {{{{name: word, length: 3, alphabet: abc}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_strings),
    ),
    "places": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: places, epsilon: [0.5, 2]}}}}
places: {{{{north: [a, b], south: [c, d, e]}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_places),
    ),
    "sampled": Kind(
        text="""
collection: {{name}}
mechanism: {{{{kind: sampled, epsilon: 2, cohorts: 4}}}}
attributes:
  - {{{{name: diet, values: [meat, fish, plants]}}}}
  - {{{{name: age, range: [0, 8]}}}}
  - {{{{name: site, candidates: [a, b]}}}}
every: 500ms
"""
        + _WINDOW,
        batches=_batches(_of_answers),
    ),
}
