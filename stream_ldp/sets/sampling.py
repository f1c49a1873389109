"""The user's side of a phase: what is reported of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.sets.phases import Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Inquiry, Method

__all__ = ["reports_of", "respond"]


def respond(method: Method, inquiry: Inquiry, sets: ItemSets, *, entropy: Entropy) -> NDArray[np.uint8]:
    """The reports of users who are asked, one packed row each, as the inquiry's oracle makes them.

    sets: of these users, items below the method's domain.
    """
    return reports_of(
        sets,
        asked=method.phases[inquiry.phase - 1].asked,
        candidates=inquiry.candidates,
        domain=method.domain,
        padding=inquiry.padding,
        oracle=method.oracle(inquiry),
        entropy=entropy,
    )


def reports_of(
    sets: ItemSets,
    *,
    asked: Target,
    candidates: NDArray[np.int64] | None,
    domain: int,
    padding: int,
    oracle: FrequencyOracle,
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """One report of each user, packed rows, uint8, shape (n, ceil(oracle.bits / 8)).

    sets: of the users, items below `domain`.
    asked: for an item, or for the number of candidates that the set holds.
    candidates: items asked about; None for all.
    padding: l, number of slots that a set is padded to where an item is asked for.
    oracle: perturbs what is asked for.
    """
    if candidates is not None:
        sets = sets.restricted(candidates, domain=domain)
    match asked:
        case Target.ITEM:
            return oracle.perturb_sets(sets.offsets, sets.items, padding=padding, entropy=entropy)
        case Target.COUNT:
            return oracle.perturb(sets.sizes, entropy=entropy)
