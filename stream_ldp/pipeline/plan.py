"""The plan of a collection as data: its sections, which are printed, and its document, for JSON."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stream_ldp.mechanisms.privacy_loss import shown_epsilon, shown_guess

#: Epsilon, in nats, from which on a plan calls the privacy weak: 1 guess in 100 is wrong.
_WEAK = math.log(99)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a plan: rows of named values, each with its unit, and sentences about them.

    columns: headings; none where each row is a name and a value that need none.
    """

    title: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorPlan:
    """The standard error to expect of so many users in a window."""

    users: int
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """The cost of a collection, before it runs; each kind has a class of its own."""

    collection: str
    fingerprint: str

    @abstractmethod
    def sections(self) -> Iterator[Section]:
        """Iterate over its parts, in the order of reading."""

    @abstractmethod
    def in_short(self) -> Iterator[str]:
        """Iterate over sentences that state the privacy of a user and the errors of the answers."""

    def head(self, *rows: tuple[str, str]) -> Section:
        """Return the first section, which names the collection and states the plan in short."""
        return Section(
            title=f"Collection {self.collection}, fingerprint {self.fingerprint}",
            rows=rows,
            notes=tuple(self.in_short()),
        )


def guess_in_short(epsilon: float, *, seen: str, between: str) -> str:
    """State an epsilon, in nats, as the best guess of an attacker.

    seen: what the attacker has seen, the subject of the sentence.
    between: inputs of a user that it does not distinguish, in the plural.
    """
    guess = shown_guess(epsilon)
    weak = " This hides little." if epsilon > _WEAK else ""
    return (
        f"In short: an attacker who has seen {seen} and starts from 50:50 between two {between} guesses right "
        f"{guess if guess.startswith('over') else f'at most {guess}'} of the time (epsilon {shown_epsilon(epsilon)})."
        f"{weak}"
    )


def errors_in_short(
    what: str, errors: Sequence[tuple[int, float]], *, unit: str = "users", of: str = "a window"
) -> str:
    """State the errors with the fewest and the most users, or another unit, of a window or something else.

    what: the error that is meant, the subject of the sentence.
    errors: pairs of a number of users and the error.
    """
    (few, of_few), (many, of_many) = errors[0], errors[-1]
    more = "" if few == many else f" and {of_many:.2g} with {many:,}"
    return f"{what} is about {of_few:.2g} with {few:,} {unit} in {of}{more}."


def refusal_section(refused: Sequence[str]) -> Section:
    """Return the part of a plan that says of whom nothing can be reported; see `Collection.refused`."""
    return Section(
        title="Values that a client refuses",
        rows=tuple((each,) for each in refused),
        notes=(
            "Silence then reveals that a user has such a value, and no epsilon covers it. Where the file may have "
            "`other`, `missing` or `clip`, these let all users report."
            if refused
            else "None: every user can report, so silence reveals nothing about the values.",
        ),
    )


def finite(value: Any) -> Any:
    """Return plain data, such as a plan's, for JSON, which has no infinity: it is the text `inf`."""
    match value:
        case dict():
            return {name: finite(part) for name, part in value.items()}
        case list() | tuple():
            return [finite(part) for part in value]
        case float() if math.isinf(value):
            return "inf"
    return value
