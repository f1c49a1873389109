"""The audit of the method of a collection of item sets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from stream_ldp.audit.audited import TOLERANCE, Exact, Row
from stream_ldp.audit.item_attacks import set_attacks
from stream_ldp.audit.item_enumeration import DOMAIN, MOST_PADDING, ItemEnumeration
from stream_ldp.audit.repeated_attacks import repeated_attacks
from stream_ldp.audit.repeated_reports import changing_losses, repeated_differences, repeated_losses
from stream_ldp.audit.set_reports import method_differences, wide_losses
from stream_ldp.sets.permanent import permanent_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.audit.audited import Audited
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.collection import ItemCollection

__all__ = ["audited"]


def audited(collection: ItemCollection) -> Audited:
    """Return the method of a collection of item sets."""
    return _Sets(collection=collection)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sets:
    """The heavy-hitter method of a collection."""

    collection: ItemCollection

    def enumerated(self) -> Exact:
        method = self.collection.method
        realised = ItemEnumeration.realised(method)
        whole: Row = {
            "phase": "all",
            "neighbours": "any two sets",
            "reports": "epoch",
            "allowed": realised.allowed,
            "claimed": realised.claimed,
            "enumerated": realised.epsilon,
        }
        phases: list[Row] = [
            {
                **whole,
                "phase": phase.number,
                "reports": 1,
                "allowed": phase.allowed,
                "claimed": phase.claimed,
                "enumerated": phase.epsilon,
            }
            for phase in realised.phases
        ]
        repeated: list[Row] = [
            {"phase": "all", "neighbours": "any two sets", **asdict(each)} for each in repeated_losses(method)
        ]
        results = [*phases, whole, *repeated]
        stated = ItemEnumeration.stated(method)
        wide = wide_losses(method)
        return Exact(
            title="The reports of one user",
            results=results,
            changing=[{"neighbours": "any two users", **asdict(each)} for each in changing_losses(method)] or None,
            changes="A set",
            differences=(
                *realised.differences(stated),
                *method_differences(method),
                *repeated_differences(method),
            ),
            wide=list(map(asdict, wide)),
            wrong=sum(each.enumerated > each.claimed + TOLERANCE for each in wide)
            + sum(
                each["enumerated"] > each["claimed"] + TOLERANCE or each["claimed"] > each["allowed"] + TOLERANCE
                for each in results
            )
            + sum(abs(each["enumerated"] - each["claimed"]) > TOLERANCE for each in repeated),
            miniature=f"{DOMAIN} items, sets padded to at most {MOST_PADDING}, oracles of the same kinds and epsilon",
        )

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        repeated = repeated_attacks(
            self.collection.method,
            keyed=lambda secret: permanent_words(self.collection, key=secret),
            noise=noise,
            secrets=secrets,
        )
        return (*set_attacks(self.collection.method, noise=noise), *repeated)
