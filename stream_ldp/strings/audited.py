"""The audit of the questions of a collection of strings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream_ldp.audit.audited import AuditSubject, Claim, Exact
from stream_ldp.audit.one_report import OneReport, of_all
from stream_ldp.audit.oracle_attacks import randomizer_attacks

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.strings.questions import StringQuestion, StringQuestions


def subject(collection: StringCollection) -> AuditSubject:
    """Return the questions of a collection of strings."""
    return _Strings(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Strings:
    """The questions of a collection of strings, whose answers are made by the same randomizers, one after another.

    The question and the seed are drawn whatever the string is. Given both, each randomizer has an input of its own,
    and the draws of all are independent: the losses add up, and two strings attain the sum if all inputs differ.
    """

    collection: StringCollection

    def enumerated(self) -> Exact:
        found = [OneReport(randomizer=each).enumerated() for each in self._questions.randomizers]
        parts = [
            replace(exact.claims[0], about={"randomizer": each.title, **exact.claims[0].about})
            for each, exact in zip(self._questions.randomizers, found, strict=True)
        ]
        whole = Claim(
            about={"randomizer": "all", "neighbours": "any two strings", "reports": math.inf},
            claimed=self._questions.epsilon,
            enumerated=sum(claim.enumerated for claim in parts),
        )
        return of_all(
            found,
            title="The answers of one user, who answers one question, and repeats the answer",
            claims=[*parts, whole],
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            attack for each in self._questions.randomizers for attack in randomizer_attacks(each, noise=noise)
        )

    @property
    def _questions(self) -> StringQuestions[StringQuestion]:
        return self.collection.method.questions
