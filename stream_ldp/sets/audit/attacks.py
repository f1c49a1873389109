"""The attacks that the reports of item sets have to withstand: to each phase, to an epoch, and repeated ones."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.audit.attacks import Attack
from stream_ldp.audit.lower_bound import System
from stream_ldp.audit.oracle_attacks import (
    LOOKED_AT,
    AttackTarget,
    Sets,
    extended,
    larger_sets,
    opposite_sets,
    pairs_of_sets,
    same_for_all,
    targets_of_larger,
)
from stream_ldp.mechanisms import Entropy, Values, random_words
from stream_ldp.mechanisms.loloha import Permanent
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets
from stream_ldp.sets.audit.enumeration import inquiries, phases_by_group
from stream_ldp.sets.item_sets import ItemSets, classes_of
from stream_ldp.sets.phases import Inquiry, Method, Target
from stream_ldp.sets.sampling import respond


def _epoch_reports(
    method: Method, inquiries: Sequence[Inquiry], *, compared: Sets, noise: Callable[[], Entropy]
) -> System:
    """Make the system of users who report to phases of an epoch: `respond`, and what the reports support.

    A history of one set has ones at the places of its items.

    inquiries: those of the phases. Users draw partition words, and report to the phases that ask them; if there is
        one inquiry, all users report to it.
    compared: the sets whose support the attacker looks at.
    noise: makes the source of all randomness, anew for each call.
    """

    def reports_of(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        held, entropy = np.flatnonzero(history[0]), noise()
        words = random_words(users, entropy=entropy)
        reports = []
        for inquiry in inquiries:
            phase = method.phases[inquiry.phase - 1]
            asked = phase.asks(words) if len(inquiries) > 1 else np.ones(users, dtype=np.bool_)
            count = int(np.count_nonzero(asked))
            rows = respond(method, inquiry, ItemSets(*same_for_all(held, count)), entropy=entropy)
            with_support = extended(method.oracle(inquiry), rows, _values(method, inquiry, compared))
            report = np.zeros((users, 1 + with_support.shape[1]), dtype=np.uint8)
            report[asked] = np.concatenate([np.ones((count, 1), dtype=np.uint8), with_support], axis=1)
            reports.append(report)
        return np.concatenate(reports, axis=1)[:, None]

    return reports_of


def _values(method: Method, inquiry: Inquiry, compared: Sets) -> Sets:
    """Return the oracle's numbers of the items that are compared, or of what is asked of their number."""
    asked, oracle = method.phases[inquiry.phase - 1].asked, method.oracle(inquiry)
    first = np.arange(min(oracle.size, LOOKED_AT))
    if asked is Target.SIZE:
        classes = classes_of(np.array([len(each) for each in compared]), count=oracle.size)
        return (first[::2], first[1::2], *classes[:, None])
    if inquiry.candidates is None:
        return compared
    among = ItemSets.of(map(np.ndarray.tolist, compared))
    held = among.restricted(inquiry.candidates, domain=method.domain)
    if asked is Target.COUNT:
        return (first[::2], first[1::2], *held.sizes[:, None])
    return tuple(np.sort(each) for each in np.split(held.items, held.offsets[1:-1]))


def set_attacks(method: Method, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on the reports of item sets: on those to each phase, and on those to an epoch.

    Raises:
        UnknownDistribution: users of one part of the user partition are not asked by the same phases.
    """
    asked = tuple(inquiries(method))
    items = _items(asked[-1], domain=method.domain)
    slots = max(inquiry.padding for inquiry in asked)
    sides = opposite_sets(items, slots=slots)
    epsilons = [phase.epsilon for phase in method.phases]
    parts = phases_by_group(method.phases)
    spent, reports = max(sum(epsilons[number - 1] for number in part) for part in parts), max(map(len, parts))

    def of_sets(compared: Sets, *to: Inquiry) -> System:
        return _epoch_reports(method, to, compared=compared, noise=noise)

    def attack(target: AttackTarget, *, claimed: float, reports: int = 1) -> Attack:
        return target.attack(neighbours="any two sets", reports=reports, claimed=claimed)

    pairs = pairs_of_sets(sides, domain=method.domain)
    found = [
        attack(
            AttackTarget(f"phase {inquiry.phase}", of_sets(sides, inquiry), pairs),
            claimed=epsilons[inquiry.phase - 1],
        )
        for inquiry in asked
    ]
    for inquiry in asked:
        # Of each phase with its own padding: one slot more than it has decides.
        larger = larger_sets(_items(inquiry, domain=method.domain), slots=inquiry.padding)
        targets = targets_of_larger(
            f"phase {inquiry.phase}, larger sets", of_sets(larger, inquiry), larger, domain=method.domain
        )
        found += [attack(each, claimed=epsilons[inquiry.phase - 1]) for each in targets]
    return (
        *found,
        attack(AttackTarget("epoch", of_sets(sides, *asked), pairs), claimed=spent, reports=reports),
        attack(
            AttackTarget("epoch, singly", of_sets(sides, *asked), pairs, singly=True), claimed=spent, reports=reports
        ),
    )


def _items(inquiry: Inquiry, *, domain: int) -> NDArray[np.int64]:
    """Return the items that an inquiry is about, each once, int64, shape (c,)."""
    if inquiry.candidates is None:
        return np.arange(domain)
    return (
        inquiry.candidates if inquiry.candidates.ndim == 1 else np.unique(inquiry.candidates[inquiry.candidates >= 0])
    )


#: Reports of a user over which an attacker averages, and the users who are attacked: some seconds.
_REPORTS = 31
_MAX_TRIALS = 5_000


def repeated_attacks(
    method: Method, *, keyed: Callable[[bytes], Permanent], noise: Callable[[], Entropy], secrets: Entropy
) -> tuple[Attack, ...]:
    """List the attacks on repeated reports; none if the method's first phase does not memoise.

    keyed: returns the sources of what a secret determines.
    noise: makes the source of the fresh noise, anew for each call.
    secrets: source of the users' secrets.
    """
    inquiry = method.first()
    oracle = method.memoising
    if oracle is None:
        return ()
    compared = opposite_sets(np.arange(method.domain), slots=inquiry.padding)

    def averaged(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Return what is left of many reports of each user: the row, and the sign that most of them say."""
        held = np.flatnonzero(history[0]).astype(np.int64)
        permanent = [
            oracle.permanent(held, padding=inquiry.padding, words=keyed(secret))
            for secret in drawn_secrets(users, entropy=secrets)
        ]
        entropy = noise()
        sent = [oracle.refreshed(np.concatenate(permanent), entropy=entropy) for _ in range(_REPORTS)]
        bits = [np.unpackbits(each, axis=1, bitorder="little") for each in sent]
        rows = np.packbits(np.mean(bits, axis=0) > 0.5, axis=1, bitorder="little")
        return extended(oracle, rows, compared)[:, None]

    return (
        Attack(
            target="client, averaged",
            neighbours="any two sets",
            reports=_REPORTS,
            values=Values.CONSTANT,
            claimed=oracle.response.loss(reports=_REPORTS),
            system=averaged,
            pairs=pairs_of_sets(compared, domain=method.domain),
            most_trials=_MAX_TRIALS,
        ),
    )
