"""The attacks that frequency oracles and the reports of item sets have to withstand.

The attacker sees each report together with what it supports. A single bit of a Hadamard response says nothing of a
value: what does is whether a sign agrees with its row, and of a set, with how many of its items the signs agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import Values, random_words
from stream_ldp.privacy.audit.attacks import SINGLE_USERS, Attack
from stream_ldp.privacy.audit.item_enumeration import inquiries, together
from stream_ldp.privacy.audit.lower_bound import CHUNK
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import Target
from stream_ldp.sets.sampling import respond

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy, FrequencyOracle
    from stream_ldp.privacy.audit.lower_bound import Histories, System
    from stream_ldp.sets.phases import Inquiry, Method

__all__ = ["EpochReports", "SetReports", "ValueReports", "oracle_attacks", "set_attacks"]

#: Number of values, or of items of a pair of sets, whose support the attacker looks at one by one.
_LOOKED_AT = 8


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
        return _with_support(self.oracle, rows, values[::2], values[1::2])[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetReports:
    """The reports of users with a set: `FrequencyOracle.perturb_sets`, and what a report supports.

    padding: number of slots that a set is padded to.
    sides: the two sets that the attacker compares.
    noise: makes the source of the noise, anew for each call.
    """

    oracle: FrequencyOracle
    padding: int
    sides: tuple[NDArray[np.intp], NDArray[np.intp]]
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        sets = _same_for_all(np.flatnonzero(history[0]), users)
        rows = self.oracle.perturb_sets(sets.offsets, sets.items, padding=self.padding, entropy=self.noise())
        return _with_support(self.oracle, rows, *self.sides)[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochReports:
    """The reports of users to phases of an epoch: `respond`, and what the reports support.

    inquiries: those of the phases. Users draw partition words, and report to the phases that ask them; if there is
        one inquiry, all users report to it.
    sides: the two sets that the attacker compares, of candidates of every inquiry.
    noise: makes the source of all randomness, anew for each call.
    """

    method: Method
    inquiries: tuple[Inquiry, ...]
    sides: tuple[NDArray[np.intp], NDArray[np.intp]]
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
            with_support = _with_support(self.method.oracle(inquiry), rows, *self._values(inquiry))
            report = np.zeros((users, 1 + with_support.shape[1]), dtype=np.uint8)
            report[asked] = np.concatenate([np.ones((count, 1), dtype=np.uint8), with_support], axis=1)
            reports.append(report)
        return np.concatenate(reports, axis=1)[:, None]

    def _values(self, inquiry: Inquiry) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the oracle's numbers of the items that are compared, or the first counts if a count is asked for."""
        if self.method.phases[inquiry.phase - 1].asked is Target.COUNT:
            counts = np.arange(min(self.method.oracle(inquiry).size, _LOOKED_AT))
            return counts[::2], counts[1::2]
        if inquiry.candidates is None:
            return self.sides
        first, second = (np.flatnonzero(np.isin(inquiry.candidates, side)) for side in self.sides)
        return first, second


def oracle_attacks(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on an oracle: on consecutive values, the last and a dummy included, or on sets."""
    system: System
    if (slots := oracle.set_slots) is not None:
        sides = _sides(np.arange(oracle.size), slots=slots)
        system, neighbours = SetReports(oracle=oracle, padding=slots, sides=sides, noise=noise), "any two sets"
        pairs = _set_pairs(sides, domain=oracle.size)
    else:
        system, neighbours = ValueReports(oracle=oracle, noise=noise), "any two values"
        values = {*range(min(oracle.inputs - 1, _LOOKED_AT)), oracle.inputs - 2}
        pairs = tuple((np.array([[value]]), np.array([[value + 1]])) for value in sorted(values))
    return tuple(
        Attack(
            target=target,
            neighbours=neighbours,
            reports=1,
            values=Values.CONSTANT,
            claimed=oracle.epsilon,
            system=system,
            pairs=pairs,
            most_trials=most_trials,
            chunk=chunk,
        )
        for target, most_trials, chunk in (("perturb", None, CHUNK), ("perturb, singly", SINGLE_USERS, 1))
    )


def set_attacks(method: Method, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on the reports of item sets: on those to each phase, and on those to an epoch."""
    asked = tuple(inquiries(method))
    last = asked[-1].candidates
    items = np.arange(method.domain) if last is None else last
    sides = _sides(items, slots=max(inquiry.padding for inquiry in asked))
    pairs = _set_pairs(sides, domain=method.domain)

    def attack(
        target: str, inquiries_: tuple[Inquiry, ...], epsilon: float, *, reports: int = 1, **how: int
    ) -> Attack:
        return Attack(
            target=target,
            neighbours="any two sets",
            reports=reports,
            values=Values.CONSTANT,
            claimed=epsilon,
            system=EpochReports(method=method, inquiries=inquiries_, sides=sides, noise=noise),
            pairs=pairs,
            **how,
        )

    epsilons = [phase.epsilon for phase in method.phases]
    parts = together(method.phases)
    spent, reports = max(sum(epsilons[number - 1] for number in part) for part in parts), max(map(len, parts))
    return (
        *(attack(f"phase {inquiry.phase}", (inquiry,), epsilons[inquiry.phase - 1]) for inquiry in asked),
        attack("epoch", asked, spent, reports=reports),
        attack("epoch, singly", asked, spent, reports=reports, most_trials=SINGLE_USERS, chunk=1),
    )


def _sides(items: NDArray[np.intp], *, slots: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two disjoint sets that fill all slots, as far as there are items."""
    return items[: 2 * slots : 2], items[1 : 2 * slots : 2]


def _set_pairs(sides: tuple[NDArray[np.intp], NDArray[np.intp]], *, domain: int) -> tuple[Histories, ...]:
    """Return pairs of histories: both sides, one item of each side, and no item and one item of the first side."""
    first, second = sides
    sets = [(first, second), (first[:1], second[:1]), (first[:0], first[:1])]
    return tuple((_indicator(one, domain), _indicator(other, domain)) for one, other in sets)


def _indicator(items: NDArray[np.intp], domain: int) -> NDArray[np.intp]:
    history = np.zeros((1, domain), dtype=np.intp)
    history[0, items] = 1
    return history


def _same_for_all(items: NDArray[np.intp], users: int) -> ItemSets:
    """Return the same set for all users."""
    return ItemSets(np.arange(users + 1) * len(items), np.tile(items, users))


def _with_support(
    oracle: FrequencyOracle, rows: NDArray[np.uint8], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.uint8]:
    """Extend rows by how many more values of the first side they support, and whether they support some of them."""
    sides = [oracle.supported(rows, side) for side in (first, second)]
    more = sides[0].sum(axis=1) - sides[1].sum(axis=1)
    some = np.concatenate([side[:, : _LOOKED_AT // 2] for side in sides], axis=1)
    levels = np.clip(more, -128, 127) + 128
    return np.concatenate(
        [rows, levels[:, None].astype(np.uint8), np.packbits(some, axis=1, bitorder="little")], axis=1
    )
