"""This module audits the questions of a collection whose users answer one each."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream_ldp.cli.audited.audited import REPORTS, TOLERANCE, Exact, Row
from stream_ldp.cli.audited.one_report import OneReport, of_all
from stream_ldp.mechanisms import RepeatedResponse
from stream_ldp.privacy.audit.item_attacks import randomizer_attacks
from stream_ldp.privacy.audit.output_distribution import in_miniature, repeated_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stream_ldp.cli.audited.audited import Audited
    from stream_ldp.client.audit.finding import Finding
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.privacy.audit.attacks import Attack
    from stream_ldp.questions.collection import AskingCollection

__all__ = ["audited"]


def audited(collection: AskingCollection) -> Audited:
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
        results: list[Row] = [
            {
                "question": number,
                "about": " and ".join(attribute.name for attribute in question.attributes),
                **exact.results[0],
            }
            for number, (question, exact) in enumerate(zip(self.collection.questions.questions, found, strict=True))
        ]
        # All reports of a user reveal what they repeat, and no more.
        repeated = [
            OneReport(randomizer=each).enumerated()
            for each in dict.fromkeys(each.randomizer.memoised for each in self.collection.questions.questions)
        ]
        results += [
            {
                **results[number],
                "reports": reports,
                "claimed": small[number].loss(reports=reports),
                "enumerated": repeated_epsilon(small[number], reports=reports),
            }
            for number, question in enumerate(self.collection.questions.questions)
            if isinstance(question.randomizer, RepeatedResponse)
            for reports in REPORTS[1:]
        ]
        results.append(
            {
                "question": "any",
                "about": "any",
                "neighbours": "any two users",
                "reports": math.inf,
                "claimed": max(each.results[0]["claimed"] for each in repeated),
                "enumerated": max(each.results[0]["enumerated"] for each in repeated),
            }
        )
        return of_all(
            found,
            title="The answers of one user, who answers one question, and repeats the answer",
            results=results,
            wrong=sum(
                abs(each["enumerated"] - each["claimed"]) > TOLERANCE for each in results if each["question"] != "any"
            ),
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"question {number}, {attack.target}")
            for number, question in enumerate(self.collection.questions.questions)
            for attack in randomizer_attacks(question.randomizer, noise=noise)
        )

    def findings(self, directory: Path) -> list[Finding] | None:
        from stream_ldp.client.audit.reporter import audit_reporter  # noqa: PLC0415
        from stream_ldp.client.audit.subjects import SampledSubject  # noqa: PLC0415

        return asyncio.run(audit_reporter(SampledSubject(self.collection), directory))
