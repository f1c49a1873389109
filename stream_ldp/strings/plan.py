"""The plan of a collection of strings: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.mechanisms.support import leverage
from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.leverage import Leverage
from stream_ldp.pipeline.plan import Plan as AnyPlan
from stream_ldp.pipeline.plan import Section, errors_in_short, guess_in_short
from stream_ldp.pipeline.published import UNKNOWN_QUESTION, published_among
from stream_ldp.quantity import quantity
from stream_ldp.strings.method import MIN_SCORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.pipeline.answer import Published
    from stream_ldp.strings.collection import StringCollection

_COUNT_BYTES = 4  # of the number of reports with one row


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionPlan:
    """The plan of one question.

    share: of the users, who are asked it.
    """

    asked: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Error:
    """The error to expect of so many users in a window.

    standard_error: of the frequency of a string that nobody has.
    least: least frequency of a string that may be reported: `MIN_SCORE` standard errors. With many candidates it
        takes up to twice as much, so that at most one false string is expected.
    """

    users: int
    standard_error: float
    least: float


@dataclass(frozen=True, kw_only=True)
class Plan(AnyPlan):
    """The plan of a collection.

    bits, report_bytes: size of one report.
    randomizers: what perturbs an answer.
    epsilon: in nats, of all reports of a user's lifetime, for any two strings.
    changed: in nats, for each further string of a user.
    state_bytes: memory of a window, for each report.
    """

    method: str
    bits: int
    report_bytes: int
    randomizers: tuple[str, ...]
    epsilon: float
    changed: float
    state_bytes: int
    questions: tuple[QuestionPlan, ...]
    errors: tuple[Error, ...]

    def in_short(self) -> Iterator[str]:
        """Iterate over sentences about any two strings, and the least frequency that is found."""
        yield guess_in_short(
            self.epsilon, seen="all reports of a user, whose string does not change,", between="strings"
        )
        yield errors_in_short(
            "The least frequency of a string that is found", [(each.users, each.least) for each in self.errors]
        )

    def sections(self) -> Iterator[Section]:
        """Iterate over the costs of a report, the questions, and the errors."""
        yield self.head(
            ("method", f"{self.method}, by {', '.join(self.randomizers)}"),
            ("a report", f"{quantity(self.bits, 'bit')}, {quantity(self.report_bytes, 'byte')} with padding"),
            ("each report of a window", quantity(self.state_bytes, "byte")),
            ("all reports of a user's lifetime", f"epsilon {shown_epsilon(self.epsilon)}, about one question"),
            ("each other string of the user", f"epsilon {shown_epsilon(self.changed)} more, at most"),
        )
        yield Section(
            title="What users are asked about their strings",
            columns=("question", "asked"),
            rows=tuple((question.asked, f"{question.share:.1%}") for question in self.questions),
        )
        yield Section(
            title="The error to expect of a whole string",
            columns=("users", "standard error", "least frequency"),
            rows=tuple(
                (f"{error.users:,}", f"{error.standard_error:.4g}", f"{error.least:.4g}") for error in self.errors
            ),
            notes=("The least frequency of a string that is reported: with many candidates up to twice as much.",),
        )


def summary(collection: StringCollection) -> str:
    """Describe a collection on one line."""
    questions = collection.method.questions
    unit = "bytes" if collection.string.alphabet is None else "letters"
    return (
        f"strings of at most {collection.string.length} {unit} by {collection.method.name}, "
        f"{quantity(len(questions.questions), 'question')}, each user asked one at epsilon "
        f"{shown_epsilon(questions.epsilon)}, {quantity(questions.bits, 'bit')} a report"
    )


def plan(collection: StringCollection, *, populations: Sequence[int] = POPULATIONS) -> Plan:
    """Work out the cost of a collection.

    populations: numbers of users who report in a window, for which to state the error.
    """
    method, questions = collection.method, collection.method.questions
    errors = [(users, method.error(users)) for users in populations]
    return Plan(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        method=method.name,
        bits=questions.bits,
        report_bytes=row_width(questions.bits),
        randomizers=tuple(randomizer.title for randomizer in questions.randomizers),
        epsilon=questions.epsilon,
        changed=questions.epsilon,
        state_bytes=row_width(questions.bits) + _COUNT_BYTES,
        questions=tuple(
            QuestionPlan(asked=each.title, share=share)
            for each, share in zip(questions.questions, questions.shares.tolist(), strict=True)
        ),
        errors=tuple(Error(users=users, standard_error=error, least=MIN_SCORE * error) for users, error in errors),
    )


def leverages(collection: StringCollection) -> tuple[Leverage, ...]:
    """Return what one crafted answer can do to the frequency of a string; see `Kind.leverages`."""
    asked, one, zero = collection.method.whole_support
    return (Leverage(series="strings", of_one=leverage(one, zero), asked=asked),)


def published(collection: StringCollection, reports: int, *, windows: int = 1) -> Published | None:
    """See `PublishedBound`."""
    questions = collection.method.questions
    return published_among(
        collection,
        reports,
        windows=windows,
        epsilon=questions.epsilon,
        lifetime=questions.epsilon,
        hidden=f"any two strings; {UNKNOWN_QUESTION}",
        blanket=questions.blanket,
    )
