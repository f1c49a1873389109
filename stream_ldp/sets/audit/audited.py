"""The audit of the method of a collection of item sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.audit.audited import AuditSubject, Claim, Exact
from stream_ldp.sets.audit.attacks import repeated_attacks, set_attacks
from stream_ldp.sets.audit.enumeration import DOMAIN, MAX_PADDING, ItemEnumeration
from stream_ldp.sets.audit.method_reports import method_differences, wide_claims
from stream_ldp.sets.audit.repeated_reports import changing_losses, repeated_differences, repeated_losses
from stream_ldp.sets.reports import permanent_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.collection import ItemCollection


def subject(collection: ItemCollection) -> AuditSubject:
    """Return the method of a collection of item sets."""
    return _Sets(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sets:
    """The heavy-hitter method of a collection."""

    collection: ItemCollection

    def enumerated(self) -> Exact:
        method = self.collection.method
        realised = ItemEnumeration.realised(method)
        phases = [
            Claim(
                about={"phase": phase.number, "neighbours": "any two sets", "reports": 1},
                allowed=phase.allowed,
                claimed=phase.claimed,
                enumerated=phase.epsilon,
            )
            for phase in realised.phases
        ]
        whole = Claim(
            about={"phase": "all", "neighbours": "any two sets", "reports": "epoch"},
            allowed=realised.allowed,
            claimed=realised.claimed,
            enumerated=realised.epsilon,
        )
        stated = ItemEnumeration.stated(method)
        return Exact(
            title="The reports of one user",
            claims=[*phases, whole, *repeated_losses(method)],
            changing=changing_losses(method) or None,
            changes="A set",
            differences=(
                *realised.differences(stated),
                *method_differences(method),
                *repeated_differences(method),
            ),
            wide=wide_claims(method),
            miniature=f"{DOMAIN} items, sets padded to at most {MAX_PADDING}, oracles of the same kinds and epsilon",
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        repeated = repeated_attacks(
            self.collection.method,
            keyed=lambda secret: permanent_words(self.collection, key=secret),
            noise=noise,
            secrets=secrets,
        )
        return (*set_attacks(self.collection.method, noise=noise), *repeated)
