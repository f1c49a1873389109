"""The user's side of a phase: reports of item sets."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import Entropy, FrequencyOracle, LolohaResponse
from stream_ldp.mechanisms.loloha import Permanent
from stream_ldp.sets.item_sets import ItemSets, classes_of
from stream_ldp.sets.phases import Inquiry, Method, Target


def respond(
    method: Method,
    inquiry: Inquiry,
    sets: ItemSets,
    *,
    entropy: Entropy,
    permanent: Sequence[Permanent] | None = None,
) -> NDArray[np.uint8]:
    """Make the reports of users to an inquiry, uint8, shape (n, ceil(bits / 8)), one packed row each.

    sets: the sets of the users who are asked, of items below the method's domain.
    permanent: for each user, the sources of what the user's secret determines, which a phase that memoises needs;
        None to draw all of it afresh.
    """
    if permanent is not None and method.memoising is not None:
        oracle = method.memoising
        return memoised_reports(sets, padding=inquiry.padding, oracle=oracle, entropy=entropy, permanent=permanent)
    return reports_of(
        sets,
        asked=method.phases[inquiry.phase - 1].asked,
        candidates=inquiry.candidates,
        missing=inquiry.missing,
        domain=method.domain,
        padding=inquiry.padding,
        oracle=method.oracle(inquiry),
        entropy=entropy,
    )


def memoised_reports(
    sets: ItemSets, *, padding: int, oracle: LolohaResponse, entropy: Entropy, permanent: Sequence[Permanent]
) -> NDArray[np.uint8]:
    """Make one report of each user that shows the user's permanent response, packed rows as `respond` makes them."""
    rows = [
        oracle.permanent(sets.items[start:end], padding=padding, words=words)
        for start, end, words in zip(sets.offsets[:-1], sets.offsets[1:], permanent, strict=True)
    ]
    if not rows:
        return np.zeros((0, -(-oracle.bits // 8)), dtype=np.uint8)
    return oracle.refreshed(np.concatenate(rows), entropy=entropy)


def reports_of(
    sets: ItemSets,
    *,
    asked: Target,
    candidates: NDArray[np.int64] | None,
    missing: bool,
    domain: int,
    padding: int,
    oracle: FrequencyOracle,
    entropy: Entropy,
) -> NDArray[np.uint8]:
    """Make one report of each user, packed rows, uint8, shape (n, ceil(oracle.bits / 8)).

    sets: the users' sets, of items below `domain`.
    asked: whether an item is asked for, the number of candidates that the set holds, or the class of its size.
    candidates: items asked about; None for all.
    missing: whether those that the set lacks are asked for.
    padding: l, number of slots that a set is padded to if an item is asked for.
    oracle: the oracle that perturbs the item, the number or the class.
    """
    if candidates is not None:
        sets = sets.restricted(candidates, domain=domain)
        if missing:
            sets = sets.complement(len(candidates))
    match asked:
        case Target.ITEM:
            return oracle.perturb_sets(sets.offsets, sets.items, padding=padding, entropy=entropy)
        case Target.COUNT:
            return oracle.perturb(sets.sizes, entropy=entropy)
        case Target.SIZE:
            return oracle.perturb(classes_of(sets.sizes, count=oracle.size), entropy=entropy)
