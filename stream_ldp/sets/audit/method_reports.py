"""Whether the reports of a method's sets are, at their real width and for several users, what they are in miniature.

A method is enumerated in miniature, where sets, paddings and hashes are few. Here its own oracles are enumerated as
wide as they are, and what a call sends is compared draw for draw with what its parts make of the same words.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.oracle_reports import SEARCHED, oracle_differences, wide_claim
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.audit.enumeration import inquiries
from stream_ldp.sets.item_sets import ItemSets, largest_padding
from stream_ldp.sets.phases import Inquiry, Method, Target, may_ask_for_missing
from stream_ldp.sets.sampling import respond

#: The most by which the float64 arithmetic of a loss of sets may be wrong, relative to it.
_ROUNDING = 1e-13

#: Users of the calls that are compared draw for draw.
_USERS = (1, 2, 100)


def wide_claims(method: Method) -> list[Claim]:
    """Return the claim of each oracle of a method's epoch that can be enumerated at its real width.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    oracles = dict.fromkeys(method.oracle(each) for each in _inquiries(method))
    return [claim for oracle in oracles if (claim := wide_claim(oracle)) is not None]


def method_differences(method: Method) -> Iterator[str]:
    """Yield where the code does not make the reports of a method's sets as it is stated; nothing if it does.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    for inquiry in _inquiries(method):
        oracle, phase = method.oracle(inquiry), f"phase {inquiry.phase}, padding {inquiry.padding}"
        stated, allowed = oracle.set_epsilon(padding=inquiry.padding), method.phases[inquiry.phase - 1].epsilon
        if stated > allowed * (1 + _ROUNDING):
            yield f"{phase}: {type(oracle).__name__} states a loss of {stated!r} nats, the phase allows {allowed!r}"
        if method.phases[inquiry.phase - 1].asked is Target.ITEM:
            yield from (f"{phase}: {each}" for each in oracle_differences(oracle, padding=inquiry.padding))
        yield from (f"{phase}: {each}" for each in _draw_for_draw(method, inquiry))


def _inquiries(method: Method) -> Iterator[Inquiry]:
    """Yield what each phase may ask, with the paddings between which a server may choose."""
    for inquiry in inquiries(method):
        paddings = {inquiry.padding}
        if inquiry.phase > 1 and method.phases[inquiry.phase - 1].asked is Target.ITEM:
            paddings |= {1, largest_padding(method.domain) if inquiry.candidates is None else len(inquiry.candidates)}
        lacks = (False, True) if may_ask_for_missing(method, inquiry.phase) else (False,)
        yield from (
            replace(inquiry, padding=padding, missing=missing) for padding in sorted(paddings) for missing in lacks
        )


def _draw_for_draw(method: Method, inquiry: Inquiry) -> Iterator[str]:
    """Compare what `respond` sends with what its parts make of the same words."""
    for users in _USERS:
        sets = ItemSets.of([range(user % (method.domain + 1))[-SEARCHED:] for user in range(users)])
        sent = respond(method, inquiry, sets, entropy=SeededEntropy(users))
        restricted = sets
        if inquiry.candidates is not None:
            restricted = sets.restricted(inquiry.candidates, domain=method.domain)
        if inquiry.candidates is not None and inquiry.missing:
            places = range(len(inquiry.candidates))
            restricted = ItemSets.of(
                [place for place in places if place not in restricted[[user]].items] for user in range(users)
            )
        oracle, entropy = method.oracle(inquiry), SeededEntropy(users)
        sizes = restricted.sizes
        match method.phases[inquiry.phase - 1].asked:
            case Target.COUNT:
                made = oracle.perturb(sizes, entropy=entropy)
            case Target.SIZE:
                larger = [np.sum(2 ** np.arange(oracle.size - 1) < size) for size in sizes.tolist()]
                made = oracle.perturb(np.array(larger, dtype=np.int64), entropy=entropy)
            case Target.ITEM:
                made = oracle.perturb_sets(
                    restricted.offsets, restricted.items, padding=inquiry.padding, entropy=entropy
                )
        if not np.array_equal(sent, made):
            yield f"respond, {users} users in a call: it does not send what the oracle makes of the candidates held"
            return
