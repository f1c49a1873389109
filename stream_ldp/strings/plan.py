"""The plan of a collection of strings: its bits, privacy, memory and expected error, before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.pipeline.kind import POPULATIONS
from stream_ldp.pipeline.statistics import row_width
from stream_ldp.strings.method import LEAST_SCORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.strings.collection import StringCollection

__all__ = ["Error", "Plan", "QuestionPlan", "plan"]

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
    least: least frequency of a string that may be told: `LEAST_SCORE` standard errors. With many candidates it takes
        up to twice as much, so that at most one false string is expected.
    """

    users: int
    standard_error: float
    least: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The plan of a collection.

    bits, report_bytes: size of one report.
    randomizers: what perturbs an answer.
    epsilon: in nats, of all reports of a user for ever, for any two strings.
    changed: in nats, for each further string of a user.
    state_bytes: memory of a window, for each report.
    """

    collection: str
    fingerprint: str
    method: str
    bits: int
    report_bytes: int
    randomizers: tuple[str, ...]
    epsilon: float
    changed: float
    state_bytes: int
    questions: tuple[QuestionPlan, ...]
    errors: tuple[Error, ...]


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
        randomizers=tuple(each.title for each in questions.randomizers),
        epsilon=questions.epsilon,
        changed=questions.epsilon,
        state_bytes=row_width(questions.bits) + _COUNT_BYTES,
        questions=tuple(
            QuestionPlan(asked=each.title, share=share)
            for each, share in zip(questions.questions, questions.shares.tolist(), strict=True)
        ),
        errors=tuple(Error(users=users, standard_error=error, least=LEAST_SCORE * error) for users, error in errors),
    )
