"""The audit of the questions of a collection of places."""

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
    from stream_ldp.mechanisms import Entropy, Randomizer
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.places.questions import PlaceQuestion


def subject(collection: PlaceCollection) -> AuditSubject:
    """Return the questions of a collection of places."""
    return _Places(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Places:
    """The questions of a collection of places: a region and an epsilon in the clear, and an answer within it.

    Regions of one size have the same randomizers. Reports state their region and epsilon, so no epsilon is claimed
    for two users who differ in these.
    """

    collection: PlaceCollection

    def enumerated(self) -> Exact:
        found = {each: OneReport(randomizer=each).enumerated() for each in self._asked}
        claims = [
            Claim(
                about={
                    "places": question.region.size,
                    "neighbours": "any two places of a region",
                    "reports": math.inf,
                },
                claimed=question.epsilon,
                enumerated=found[each].claims[0].enumerated,
            )
            for each, question in self._asked.items()
        ]
        return of_all(
            list(found.values()),
            title="The answers of one user, with the region and the epsilon in the clear, repeated",
            claims=claims,
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:  # noqa: ARG002
        return tuple(
            replace(attack, target=f"{question.region.size} places, {attack.target}")
            for each, question in self._asked.items()
            for attack in randomizer_attacks(each, noise=noise)
        )

    @property
    def _asked(self) -> dict[Randomizer, PlaceQuestion]:
        """A question for each randomizer, the largest regions first."""
        ordered = sorted(self.collection.asked, key=lambda each: (-each.region.size, each.epsilon))
        return {each.randomizer: each for each in ordered}
