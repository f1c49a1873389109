"""The plan of a collection of key-value data: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.pairs.question import variance_of_share
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import ErrorPlan, Section, errors_in_short, guess_in_short
from stream_ldp.quantity import quantity
from stream_ldp.questions.plan import AskingPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pairs.collection import PairsCollection

#: Share of users who hold a key whose mean is planned.
_HELD = 0.1
#: Largest error of a mean in the middle of its range, as a share of it: none is published outside.
_MOST = 0.5


@dataclass(frozen=True, kw_only=True)
class Plan(AskingPlan):
    """The plan of a collection.

    epsilon: in nats, of all reports of a user's lifetime, for any two users.
    mechanism: the randomizer.
    padding: keys that a user may hold without counting for less.
    frequencies: errors of the share of users who hold a key that few hold.
    means: errors of the mean of a key that a tenth of the users hold, as shares of its range.
    """

    epsilon: float
    mechanism: str
    padding: int
    frequencies: tuple[ErrorPlan, ...]
    means: tuple[ErrorPlan, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two users, and the share of a key."""
        seen = "all reports of a user, whose keys and numbers do not change,"
        yield guess_in_short(self.epsilon, seen=seen, between="sets of keys and numbers")
        errors = [(error.users, error.standard_error) for error in self.frequencies]
        yield errors_in_short("The standard error of the share of a key that few hold", errors)

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, and the errors."""
        yield self.head(
            ("all reports of a user's lifetime", f"epsilon {shown_epsilon(self.epsilon)}, whatever keys are held"),
            ("each other set of keys and numbers", f"epsilon {shown_epsilon(self.epsilon)} more"),
            ("response", self.mechanism),
            ("keys of a user", f"{self.padding}; those of users with more count for less"),
        )
        yield Section(
            title="Keys, with the standard error to expect",
            columns=("of", *(quantity(error.users, "user") for error in self.frequencies)),
            rows=tuple(
                (name, *(f"{error.standard_error:.4g}" for error in errors))
                for name, errors in (("share who hold a key", self.frequencies), ("mean of its numbers", self.means))
            ),
            notes=(f"The mean is that of a key that {_HELD:.0%} of the users hold, as a share of its range.",),
        )


def summary(collection: PairsCollection) -> str:
    """Describe a collection on one line."""
    return (
        f"{quantity(len(collection.keys.names), 'key')} with numbers, each user asked about one at epsilon "
        f"{shown_epsilon(collection.questions.lifetime)}, {quantity(collection.bits, 'bit')} a report"
    )


def plan(collection: PairsCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    questions, oracle = collection.questions, collection.question.randomizer
    frequency = math.sqrt(variance_of_share(oracle, padding=collection.padding))
    # Of a mean in the middle: half of the difference of both ends, over their sum.
    means = _errors(frequency / (2 * _HELD), populations)
    return Plan.of(
        collection,
        epsilon=questions.lifetime,
        mechanism=oracle.title,
        padding=collection.padding,
        frequencies=_errors(frequency, populations),
        means=tuple(replace(each, standard_error=min(each.standard_error, _MOST)) for each in means),
    )


def _errors(of_one: float, populations: Sequence[int]) -> tuple[ErrorPlan, ...]:
    return tuple(ErrorPlan(users=users, standard_error=of_one / math.sqrt(users)) for users in populations)


def leverages(collection: PairsCollection) -> tuple[Leverage, ...]:
    """Return what one crafted answer can do to the share of users who hold a key; see `Kind.leverages`.

    A report adds most if it supports both ends of the key, or one where they exclude each other, and takes most away
    if it supports neither; each end counts for as many users as there are slots. A mean has no other bound than its
    range.
    """
    question = collection.question
    p, q = question.randomizer.support
    least, largest = -2 * q / (p - q), ((1 if question.excludes else 2) - 2 * q) / (p - q)
    of_one = max(collection.padding * largest, 1.0 - collection.padding * least)
    return (Leverage(series="pairs", about="shares", of_one=of_one),)
