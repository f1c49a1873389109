"""The audit of the questions of a collection whose users answer one each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream_ldp.audit.audited import REPORTS, Claim, Exact
from stream_ldp.audit.one_report import OneReport, of_all
from stream_ldp.audit.oracle_attacks import randomizer_attacks
from stream_ldp.audit.output_distribution import in_miniature, repeated_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.audit.audited import AuditSubject
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.collection import AskingCollection


def subject(collection: AskingCollection) -> AuditSubject:
    """Return the questions of a sampled collection."""
    return _Sampled(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sampled:
    """The questions of a sampled collection, of which a user answers one, drawn whatever the user holds."""

    collection: AskingCollection

    def enumerated(self) -> Exact:
        # Cohorts share their randomizer.
        enumerated = {
            each: OneReport(randomizer=each).enumerated()
            for each in dict.fromkeys(each.randomizer for each in self.collection.questions.questions)
        }
        found = [enumerated[each.randomizer] for each in self.collection.questions.questions]
        small = [in_miniature(each.randomizer) for each in self.collection.questions.questions]
        once = [
            replace(
                exact.claims[0],
                about={
                    "question": number,
                    "about": " and ".join(attribute.name for attribute in question.attributes),
                    **exact.claims[0].about,
                },
                tight=True,
            )
            for number, (question, exact) in enumerate(zip(self.collection.questions.questions, found, strict=True))
        ]
        # All reports of a user reveal what they repeat, and no more.
        repeated = [
            OneReport(randomizer=each).enumerated()
            for each in dict.fromkeys(each.randomizer.memoised for each in self.collection.questions.questions)
        ]
        again = [
            replace(
                once[number],
                about={**once[number].about, "reports": reports},
                claimed=small[number].loss(reports=reports),
                enumerated=repeated_epsilon(small[number], reports=reports),
            )
            for number, question in enumerate(self.collection.questions.questions)
            if question.randomizer.charged_by_report
            for reports in REPORTS[1:]
        ]
        whole = Claim(
            about={"question": "any", "about": "any", "neighbours": "any two users", "reports": math.inf},
            claimed=max(each.claims[0].claimed for each in repeated),
            enumerated=max(each.claims[0].enumerated for each in repeated),
        )
        return of_all(
            found,
            title="The answers of one user, who answers one question, and repeats the answer",
            claims=[*once, *again, whole],
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"question {number}, {attack.target}")
            for number, question in enumerate(self.collection.questions.questions)
            for attack in randomizer_attacks(question.randomizer, noise=noise)
        )
