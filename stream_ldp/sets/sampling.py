"""The user's side of a phase: of a whole set, one value is perturbed (padding and sampling)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import uniform_integers
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.sets.phases import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.phases import Inquiry, Method

__all__ = ["respond"]


def respond(method: Method, inquiry: Inquiry, sets: ItemSets, *, entropy: Entropy) -> NDArray[np.uint8]:
    """The reports of users who are asked, as the inquiry's oracle makes them: packed rows, one a user.

    sets: of these users, items below the method's domain.

    Where one item is asked for, a set with fewer than l candidates is padded with dummies to l, and one of its slots
    is drawn; a set with more is not cut, so that any item is drawn with probability at most 1 / l, whoever holds it
    (Wang, Li and Jha, 2018, section IV-A).
    """
    if inquiry.candidates is not None:
        sets = sets.restricted(inquiry.candidates, domain=method.domain)
    oracle = method.oracle(inquiry)
    match method.phases[inquiry.phase - 1].asked:
        case Target.ITEM:
            if isinstance(oracle, SetHadamardResponse):
                return oracle.perturb_sets(sets.offsets, sets.items, entropy=entropy)
            values = _sampled(sets, size=oracle.size, padding=inquiry.padding, entropy=entropy)
        case Target.COUNT:
            values = sets.sizes
    return oracle.perturb(values, entropy=entropy)


def _sampled(sets: ItemSets, *, size: int, padding: int, entropy: Entropy) -> NDArray[np.int64]:
    held = sets.sizes
    slots = uniform_integers(np.maximum(held, padding), entropy=entropy)
    values = size + slots - held  # a dummy's, and below `size` where an item was drawn
    real = slots < held
    values[real] = sets.items[(sets.offsets[:-1] + slots)[real]]
    return values
