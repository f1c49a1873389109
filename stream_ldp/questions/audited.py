"""The audit of the questions of a collection whose users answer one each."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stream_ldp.audit.audited import REPORTS, AuditSubject, Claim, Exact, Row
from stream_ldp.audit.one_report import OneReport, of_all
from stream_ldp.audit.oracle_attacks import randomizer_attacks
from stream_ldp.audit.output_distribution import (
    TooManyReports,
    changing_epsilons,
    in_miniature,
    repeated_epsilon,
)
from stream_ldp.ledger.ledger import charged
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.mechanisms import Entropy, Randomizer
    from stream_ldp.questions.collection import AskingCollection
    from stream_ldp.questions.questions import Question

#: Numbers of reports, and inputs at most, for which a user whose input changes is enumerated.
_CHANGING_REPORTS = (2, 3, 4)
_CHANGING_INPUTS = 4


def subject(collection: AskingCollection) -> AuditSubject:
    """Return the questions of a sampled collection."""
    return _Sampled(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sampled:
    """The questions of a sampled collection; a user answers one, drawn whatever the user holds."""

    collection: AskingCollection

    def enumerated(self) -> Exact:
        # Cohorts share their randomizer.
        questions = self.collection.questions.questions
        enumerated = {
            each: OneReport(randomizer=each, slots=slots).enumerated()
            for each, slots in {each.randomizer: each.slots for each in questions}.items()
        }
        # The cohorts of an attribute are one row.
        rows = [
            (numbers[0], numbers[-1], questions[numbers[0]])
            for _, run in itertools.groupby(range(len(questions)), key=lambda number: _asked(questions[number]))
            for numbers in [list(run)]
        ]
        once = [
            replace(
                enumerated[question.randomizer].claims[0],
                about={
                    "question": first if first == last else f"{first} to {last}",
                    "about": " and ".join(attribute.name for attribute in question.attributes),
                    **enumerated[question.randomizer].claims[0].about,
                },
                tight=True,
            )
            for first, last, question in rows
        ]
        # All reports of a user reveal what they repeat, and no more.
        repeated = [
            OneReport(randomizer=each, slots=slots).enumerated()
            for each, slots in {each.randomizer.memoised: each.slots for each in questions}.items()
        ]
        several = [each for each in enumerated if each.charged_by_report]
        small = {each: in_miniature(each) for each in several}
        losses = {
            (each, reports): repeated_epsilon(small[each], reports=reports)
            for each in several
            for reports in REPORTS[1:]
        }
        again = [
            replace(
                claim,
                about={**claim.about, "reports": reports},
                claimed=small[question.randomizer].loss(reports=reports),
                enumerated=losses[question.randomizer, reports],
            )
            for claim, (_, _, question) in zip(once, rows, strict=True)
            if question.randomizer in small
            for reports in REPORTS[1:]
        ]
        changing = [_changing(each, _about(questions, each)) for each in several]
        shared = dict.fromkeys(each.randomizer for each in questions if each.shares_answers)
        changing += [_shared(each, _about(questions, each)) for each in shared if each not in several]
        whole = Claim(
            about={"question": "any", "about": "any", "neighbours": "any two users", "reports": math.inf},
            claimed=max(each.claims[0].claimed for each in repeated),
            enumerated=max(each.claims[0].enumerated for each in repeated),
        )
        return of_all(
            [*enumerated.values()],
            title="The answers of one user, who answers one question, and repeats the answer",
            claims=[*once, *again, *(claim for claims, _ in changing for claim in claims), whole],
            changing=[row for _, shown in changing for row in shown] or None,
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"question {number}, {attack.target}")
            for number, question in enumerate(self.collection.questions.questions)
            for attack in randomizer_attacks(question.randomizer, noise=noise)
        )


def _changing(randomizer: Randomizer, about: str) -> tuple[list[Claim], list[Row]]:
    """Enumerate reports of an input that changes, for as many reports as can be.

    about: the attributes that are answered so, in words.

    Returns:
        For each number of reports and of changes, what the ledger charges; and what changes show beside it.
    """
    small, claims, shown = _small(randomizer), [], []
    cost: Any = small.cost
    # Infinitely many reports of each input show the memoised responses to all inputs, and nothing else.
    with contextlib.suppress(TooManyReports):
        for reports in _CHANGING_REPORTS:
            found, row = _of_reports(small, about, reports=reports, constant=small.loss(reports=reports))
            claims += found
            shown.append(row)
        alike, _ = changing_epsilons(small.memoised, reports=small.inputs)
        most = cost.responses_loss(responses=small.inputs, reports=math.inf)
        last = small.inputs - 1
        claims.append(_changed(about, last, reports=math.inf, claimed=most, enumerated=alike[last]))
    return claims, shown


def _shared(randomizer: Randomizer, about: str) -> tuple[list[Claim], list[Row]]:
    """Enumerate answers that are repeated, of an input that changes until all answers are shown; as `_changing`."""
    small = _small(randomizer)
    try:
        claims, row = _of_reports(small, about, reports=small.inputs, constant=small.epsilon)
    except TooManyReports:
        return [], []
    return claims, [row]


def _small(randomizer: Randomizer) -> Any:
    """Return a randomizer of the same sort, of few enough inputs for all their changes to be enumerated."""
    small = randomizer
    while small.inputs > _CHANGING_INPUTS and small.small() != small:
        small = small.small()
    return small


def _of_reports(small: Any, about: str, *, reports: int, constant: float) -> tuple[list[Claim], Row]:
    """Enumerate so many reports of an input that changes.

    constant: their loss where it does not.

    Returns:
        For each number of changes, what the ledger charges; and what changes show beside it.

    Raises:
        TooManyReports: there are too many to enumerate.
    """
    alike, any_two = changing_epsilons(small, reports=reports)
    claims = [
        _changed(
            about,
            changes,
            reports=reports,
            claimed=charged(small.cost, values=min(changes + 1, small.inputs), reports=reports),
            enumerated=loss,
        )
        for changes, loss in sorted(alike.items())
    ]
    return claims, {
        "neighbours": "any two users",
        "reports": reports,
        "if_constant": constant,
        "enumerated": any_two,
    }


def _changed(about: str, changes: int, *, reports: float, claimed: float, enumerated: float) -> Claim:
    alike = f"any two users who change at the same times, {quantity(changes, 'change')}"
    of = {"question": "any", "about": about, "neighbours": alike, "reports": reports}
    return Claim(about=of, claimed=claimed, enumerated=enumerated)


def _asked(question: Question) -> tuple[tuple[int, ...], Randomizer]:
    return question.of, question.randomizer


def _about(questions: Sequence[Question], randomizer: Randomizer) -> str:
    """Name the attributes that are answered through a randomizer."""
    names = (each.name for question in questions if question.randomizer == randomizer for each in question.attributes)
    return ", ".join(dict.fromkeys(names))
