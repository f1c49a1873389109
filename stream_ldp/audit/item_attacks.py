"""The attacks that frequency oracles and the reports of item sets have to withstand.

The attacker sees each report together with what it supports. A single bit of a Hadamard response says nothing of a
value: what does is whether a sign agrees with its row, and of a set, with how many of its items the signs agree, and
how many different codes its items have in the row.

Sets may be larger than the l items that a set is padded to, up to all items: such sets are attacked too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.attacks import SINGLE_USERS, Attack
from stream_ldp.audit.item_enumeration import inquiries, phases_by_group
from stream_ldp.audit.lower_bound import CHUNK
from stream_ldp.mechanisms import FrequencyOracle, Values, random_words
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import Target
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.audit.lower_bound import Histories, System
    from stream_ldp.mechanisms import Entropy, Randomizer
    from stream_ldp.sets.phases import Inquiry, Method

    #: Sets of values, each of shape (items,).
    Sets = tuple[NDArray[np.intp], ...]

#: Number of values, or of items of a pair of sets, whose support the attacker looks at one by one.
_LOOKED_AT = 8

#: Most items of a set whose support is counted, and most items of the largest set that is attacked.
_COUNTED = 256
_MAX_ITEMS = 2**16

#: Items of all sets of an attack on larger sets, and of those in one call: some seconds, and some hundred megabytes.
_ALL_ITEMS = 2**26
_ITEMS_AT_ONCE = 2**21


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueReports:
    """The reports of users with one value: `FrequencyOracle.perturb`, and what a report supports.

    noise: makes the source of the noise, anew for each call.
    """

    oracle: FrequencyOracle
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one value."""
        rows = self.oracle.perturb(np.repeat(history[:, 0], users), entropy=self.noise())
        values = np.arange(min(self.oracle.size, _LOOKED_AT))
        return extended(self.oracle, rows, (values[::2], values[1::2]))[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class InputReports:
    """The reports of users with one input of a randomizer, as they are.

    noise: makes the source of the noise, anew for each call.
    """

    randomizer: Randomizer
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one input."""
        return self.randomizer.perturb(np.repeat(history[:, 0], users), entropy=self.noise())[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetReports:
    """The reports of users with a set: `FrequencyOracle.perturb_sets`, and what a report supports.

    padding: number of slots that a set is padded to.
    compared: the sets whose support the attacker looks at.
    noise: makes the source of the noise, anew for each call.
    """

    oracle: FrequencyOracle
    padding: int
    compared: Sets
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        sets = _same_for_all(np.flatnonzero(history[0]), users)
        rows = self.oracle.perturb_sets(sets.offsets, sets.items, padding=self.padding, entropy=self.noise())
        return extended(self.oracle, rows, self.compared)[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochReports:
    """The reports of users to phases of an epoch: `respond`, and what the reports support.

    inquiries: those of the phases. Users draw partition words, and report to the phases that ask them; if there is
        one inquiry, all users report to it.
    compared: the sets whose support the attacker looks at.
    noise: makes the source of all randomness, anew for each call.
    """

    method: Method
    inquiries: tuple[Inquiry, ...]
    compared: Sets
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        held, entropy = np.flatnonzero(history[0]), self.noise()
        words = random_words(users, entropy=entropy)
        reports = []
        for inquiry in self.inquiries:
            phase = self.method.phases[inquiry.phase - 1]
            asked = phase.asks(words) if len(self.inquiries) > 1 else np.ones(users, dtype=np.bool_)
            count = int(np.count_nonzero(asked))
            rows = respond(self.method, inquiry, _same_for_all(held, count), entropy=entropy)
            with_support = extended(self.method.oracle(inquiry), rows, self._values(inquiry))
            report = np.zeros((users, 1 + with_support.shape[1]), dtype=np.uint8)
            report[asked] = np.concatenate([np.ones((count, 1), dtype=np.uint8), with_support], axis=1)
            reports.append(report)
        return np.concatenate(reports, axis=1)[:, None]

    def _values(self, inquiry: Inquiry) -> Sets:
        """Return the oracle's numbers of the items that are compared, or of their counts if a count is asked for."""
        candidates = np.arange(self.method.domain) if inquiry.candidates is None else inquiry.candidates
        if self.method.phases[inquiry.phase - 1].asked is Target.COUNT:
            first = np.arange(min(self.method.oracle(inquiry).size, _LOOKED_AT))
            counts = [np.array([np.count_nonzero(np.isin(candidates, each))]) for each in self.compared]
            return (first[::2], first[1::2], *counts)
        if inquiry.candidates is None:
            return self.compared
        return tuple(np.flatnonzero(np.isin(candidates, each)) for each in self.compared)


def randomizer_attacks(randomizer: Randomizer, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on a randomizer: those on an oracle, or on the two inputs that are told apart best.

    Unlike those of two values, the outputs of neighbouring numbers are hardly told apart.
    """
    if isinstance(randomizer, FrequencyOracle):
        return oracle_attacks(randomizer, noise=noise)
    one, other = randomizer.furthest
    pairs = ((np.array([[one]]), np.array([[other]])),)
    of_inputs = InputReports(randomizer=randomizer, noise=noise)
    targets = [_Target("perturb", of_inputs, pairs), _Target("perturb, singly", of_inputs, pairs, singly=True)]
    return tuple(each.attack(neighbours="any two numbers", reports=1, claimed=randomizer.epsilon) for each in targets)


def oracle_attacks(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on an oracle: on consecutive values, the last and a dummy included, or on sets."""
    if (slots := oracle.set_slots) is not None:
        items = np.arange(oracle.size)
        sides, larger = opposite_sets(items, slots=slots), _larger(items, slots=slots)

        def of_sets(compared: Sets) -> SetReports:
            return SetReports(oracle=oracle, padding=slots, compared=compared, noise=noise)

        targets = [
            _Target("perturb", of_sets(sides), pairs_of_sets(sides, domain=oracle.size)),
            _Target("perturb, singly", of_sets(sides), pairs_of_sets(sides, domain=oracle.size), singly=True),
            *_of_larger("perturb, larger sets", of_sets(larger), larger, domain=oracle.size),
        ]
    else:
        values = {*range(min(oracle.inputs - 1, _LOOKED_AT)), oracle.inputs - 2}
        pairs = tuple((np.array([[value]]), np.array([[value + 1]])) for value in sorted(values))
        of_values = ValueReports(oracle=oracle, noise=noise)
        targets = [_Target("perturb", of_values, pairs), _Target("perturb, singly", of_values, pairs, singly=True)]
    neighbours = "any two values" if slots is None else "any two sets"
    return tuple(each.attack(neighbours=neighbours, reports=1, claimed=oracle.epsilon) for each in targets)


def set_attacks(method: Method, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on the reports of item sets: on those to each phase, and on those to an epoch.

    Raises:
        UnknownDistribution: users of one part of the user partition are not asked by the same phases.
    """
    asked = tuple(inquiries(method))
    last = asked[-1].candidates
    items = np.arange(method.domain) if last is None else last
    slots = max(inquiry.padding for inquiry in asked)
    sides = opposite_sets(items, slots=slots)
    epsilons = [phase.epsilon for phase in method.phases]
    parts = phases_by_group(method.phases)
    spent, reports = max(sum(epsilons[number - 1] for number in part) for part in parts), max(map(len, parts))

    def of_sets(compared: Sets, *to: Inquiry) -> EpochReports:
        return EpochReports(method=method, inquiries=to, compared=compared, noise=noise)

    def attack(target: _Target, *, claimed: float, reports: int = 1) -> Attack:
        return target.attack(neighbours="any two sets", reports=reports, claimed=claimed)

    pairs = pairs_of_sets(sides, domain=method.domain)
    found = [
        attack(_Target(f"phase {inquiry.phase}", of_sets(sides, inquiry), pairs), claimed=epsilons[inquiry.phase - 1])
        for inquiry in asked
    ]
    for inquiry in asked:
        # Of each phase with its own padding: one slot more than it has decides.
        among = np.arange(method.domain) if inquiry.candidates is None else inquiry.candidates
        larger = _larger(among, slots=inquiry.padding)
        targets = _of_larger(
            f"phase {inquiry.phase}, larger sets", of_sets(larger, inquiry), larger, domain=method.domain
        )
        found += [attack(each, claimed=epsilons[inquiry.phase - 1]) for each in targets]
    return (
        *found,
        attack(_Target("epoch", of_sets(sides, *asked), pairs), claimed=spent, reports=reports),
        attack(_Target("epoch, singly", of_sets(sides, *asked), pairs, singly=True), claimed=spent, reports=reports),
    )


@dataclass(frozen=True, slots=True)
class _Target:
    """A target of an attack, and the pairs of histories to distinguish.

    items: of the largest set, where that decides how many users are attacked.
    """

    name: str
    system: System
    pairs: tuple[Histories, ...]
    singly: bool = False
    items: int | None = None

    def attack(self, *, neighbours: str, reports: int, claimed: float) -> Attack:
        """Return the attack, which must not disprove the claim."""
        most_trials, chunk = (SINGLE_USERS, 1) if self.singly else (None, CHUNK)
        if self.items is not None:
            most_trials, chunk = _ALL_ITEMS // self.items, min(CHUNK, _ITEMS_AT_ONCE // self.items)
        return Attack(
            target=self.name,
            neighbours=neighbours,
            reports=reports,
            values=Values.CONSTANT,
            claimed=claimed,
            system=self.system,
            pairs=self.pairs,
            most_trials=most_trials,
            chunk=chunk,
        )


def opposite_sets(items: NDArray[np.intp], *, slots: int) -> Sets:
    """Return two disjoint sets that fill all slots, as far as there are items."""
    return items[: 2 * slots : 2], items[1 : 2 * slots : 2]


def _larger(items: NDArray[np.intp], *, slots: int) -> Sets:
    """Return sets that do not fit the slots: one item more, twice as many, as many others, and all."""
    sizes = dict.fromkeys(
        size for size in (slots + 1, 2 * slots, min(len(items), _MAX_ITEMS)) if slots < size <= len(items)
    )
    sets = [items[:size] for size in sizes]
    if 4 * slots <= len(items):
        sets.append(items[2 * slots : 4 * slots])
    return tuple(sets)


def _of_larger(name: str, system: System, larger: Sets, *, domain: int) -> list[_Target]:
    """Return the target of an attack on larger sets than the slots; none where the slots hold all items.

    Each of the sets is told from the empty set, and the last two from each other.
    """
    if not larger:
        return []
    empty = larger[0][:0]
    pairs = [(empty, each) for each in larger] + [(larger[-2], larger[-1])][: len(larger) - 1]
    return [_Target(name, system, _histories(pairs, domain), items=max(map(len, larger)))]


def pairs_of_sets(sides: Sets, *, domain: int) -> tuple[Histories, ...]:
    """Return pairs of histories: both sides, one item of each side, and no item and one item of the first side."""
    first, second = sides
    return _histories([(first, second), (first[:1], second[:1]), (first[:0], first[:1])], domain)


def _histories(pairs: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]], domain: int) -> tuple[Histories, ...]:
    return tuple((_indicator(one, domain), _indicator(other, domain)) for one, other in pairs)


def _indicator(items: NDArray[np.intp], domain: int) -> NDArray[np.intp]:
    history = np.zeros((1, domain), dtype=np.intp)
    history[0, items] = 1
    return history


def _same_for_all(items: NDArray[np.intp], users: int) -> ItemSets:
    """Return the same set for all users."""
    return ItemSets(np.arange(users + 1) * len(items), np.tile(items, users))


def extended(oracle: FrequencyOracle, rows: NDArray[np.uint8], compared: Sets) -> NDArray[np.uint8]:
    """Extend rows by what they support, and how they could.

    These are the number of values of each set that a row supports, less those of the next set, how many different
    codes the values have, whether the row supports any of them, and whether it supports each of the first.
    """
    counted = [each[:_COUNTED] for each in compared]
    supported = [oracle.supported(rows, each) for each in counted]
    numbers = [each.sum(axis=1) for each in supported]
    levels = [one - other for one, other in itertools.pairwise(numbers)]
    codes = [_distinct(oracle.codes(rows, each)) for each in counted]
    bytes_ = [np.clip(level, -128, 127) + 128 for level in levels] + [np.minimum(count, 255) for count in codes]
    some = [each[:, : _LOOKED_AT // 2] for each in supported] + [number[:, None] > 0 for number in numbers]
    return np.concatenate(
        [
            rows,
            np.stack(bytes_, axis=1).astype(np.uint8),
            np.packbits(np.concatenate(some, axis=1), axis=1, bitorder="little"),
        ],
        axis=1,
    )


def _distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of different codes in each row, int64, shape (n,)."""
    ordered = np.sort(codes, axis=1)
    different: NDArray[np.int64] = (np.diff(ordered, axis=1) != 0).sum(axis=1) + (codes.shape[1] > 0)
    return different
