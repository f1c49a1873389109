"""The user's side of a phase: reports of item sets."""

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
    """Make the reports of users to an inquiry, uint8, shape (n, ceil(bits / 8)), one packed row each.

    sets: the sets of the users who are asked, of items below the method's domain.
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
    """Make one report of each user, packed rows, uint8, shape (n, ceil(oracle.bits / 8)).

    sets: the users' sets, of items below `domain`.
    asked: whether an item is asked for, or the number of candidates that the set holds.
    candidates: items asked about; None for all.
    padding: l, number of slots that a set is padded to if an item is asked for.
    oracle: the oracle that perturbs the item or the number.
    """
    if candidates is not None:
        sets = sets.restricted(candidates, domain=domain)
    match asked:
        case Target.ITEM:
            return oracle.perturb_sets(sets.offsets, sets.items, padding=padding, entropy=entropy)
        case Target.COUNT:
            return oracle.perturb(sets.sizes, entropy=entropy)
