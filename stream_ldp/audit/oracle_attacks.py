"""The attacks that randomizers, and oracles of item sets among them, have to withstand.

The attacker sees each report together with what it supports. A single bit of a Hadamard response says nothing of a
value: what does is whether a sign agrees with its row. Of a set, it is the number of items with which the signs
agree, and the number of different codes that its items have in the row.

Sets may be larger than the l items that a set is padded to, up to all items: such sets are attacked too.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_ldp.audit.attacks import SINGLE_USERS, Attack
from stream_ldp.audit.lower_bound import CHUNK, Histories, System
from stream_ldp.mechanisms import Entropy, FrequencyOracle, Randomizer, Values
from stream_ldp.mechanisms.frequency_oracle import oracle_of

#: Sets of values, each of shape (items,).
Sets = tuple[NDArray[np.intp], ...]

#: Number of values, or of items of a pair of sets, whose support the attacker looks at one by one.
LOOKED_AT = 8

#: Most items of a set whose support is counted, and most items of the largest set that is attacked.
_COUNTED = 256
_MAX_ITEMS = 2**16

#: Items of all sets of an attack on larger sets, and of those in one call: some seconds, and some hundred megabytes.
_ALL_ITEMS = 2**26
_ITEMS_AT_ONCE = 2**21


def _of_values(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> System:
    """Make the system of users with one value: `FrequencyOracle.perturb`, and what a report supports.

    noise: makes the source of the noise, anew for each call.
    """

    def reports(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        rows = oracle.perturb(np.repeat(history[:, 0], users), entropy=noise())
        values = np.arange(min(oracle.size, LOOKED_AT))
        return extended(oracle, rows, (values[::2], values[1::2]))[:, None]

    return reports


def _of_sets(oracle: FrequencyOracle, *, padding: int, compared: Sets, noise: Callable[[], Entropy]) -> System:
    """Make the system of users with a set: `FrequencyOracle.perturb_sets`, and what a report supports.

    A history of one set has ones at the places of its items.

    padding: number of slots that a set is padded to.
    compared: the sets whose support the attacker looks at.
    noise: makes the source of the noise, anew for each call.
    """

    def reports(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        offsets, items = same_for_all(np.flatnonzero(history[0]), users)
        rows = oracle.perturb_sets(offsets, items, padding=padding, entropy=noise())
        return extended(oracle, rows, compared)[:, None]

    return reports


def randomizer_attacks(randomizer: Randomizer, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on a randomizer: those on an oracle, or on the two inputs that outputs distinguish best.

    Unlike those of two values, the outputs of neighbouring numbers are hardly distinguished.
    """
    if (oracle := oracle_of(randomizer)) is not None:
        return oracle_attacks(oracle, noise=noise)
    one, other = randomizer.furthest
    pairs = ((np.array([[one]]), np.array([[other]])),)

    def of_inputs(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        return randomizer.perturb(np.repeat(history[:, 0], users), entropy=noise())[:, None]

    targets = [
        AttackTarget("perturb", of_inputs, pairs),
        AttackTarget("perturb, singly", of_inputs, pairs, singly=True),
    ]
    neighbours = f"any two {randomizer.input_name}s"
    return tuple(each.attack(neighbours=neighbours, reports=1, claimed=randomizer.epsilon) for each in targets)


def oracle_attacks(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """List the attacks on an oracle: on consecutive values, the last and a dummy included, or on sets."""
    if (slots := oracle.set_slots) is not None:
        items = np.arange(oracle.size)
        sides, larger = opposite_sets(items, slots=slots), larger_sets(items, slots=slots)

        def of_sets(compared: Sets) -> System:
            return _of_sets(oracle, padding=slots, compared=compared, noise=noise)

        targets = [
            AttackTarget("perturb", of_sets(sides), pairs_of_sets(sides, domain=oracle.size)),
            AttackTarget("perturb, singly", of_sets(sides), pairs_of_sets(sides, domain=oracle.size), singly=True),
            *targets_of_larger("perturb, larger sets", of_sets(larger), larger, domain=oracle.size),
        ]
    else:
        values = {*range(min(oracle.inputs - 1, LOOKED_AT)), oracle.inputs - 2}
        pairs = tuple((np.array([[value]]), np.array([[value + 1]])) for value in sorted(values))
        of_values = _of_values(oracle, noise=noise)
        targets = [
            AttackTarget("perturb", of_values, pairs),
            AttackTarget("perturb, singly", of_values, pairs, singly=True),
        ]
    neighbours = "any two values" if slots is None else "any two sets"
    return tuple(each.attack(neighbours=neighbours, reports=1, claimed=oracle.epsilon) for each in targets)


@dataclass(frozen=True, slots=True)
class AttackTarget:
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


def larger_sets(items: NDArray[np.intp], *, slots: int) -> Sets:
    """Return sets that do not fit the slots: one item more, twice as many, as many others, and all."""
    sizes = dict.fromkeys(
        size for size in (slots + 1, 2 * slots, min(len(items), _MAX_ITEMS)) if slots < size <= len(items)
    )
    sets = [items[:size] for size in sizes]
    if 4 * slots <= len(items):
        sets.append(items[2 * slots : 4 * slots])
    return tuple(sets)


def targets_of_larger(name: str, system: System, larger: Sets, *, domain: int) -> list[AttackTarget]:
    """Return the target of an attack on larger sets than the slots; none where the slots hold all items.

    Each of the sets is distinguished from the empty set, and the last two from each other.
    """
    if not larger:
        return []
    empty = larger[0][:0]
    pairs = [(empty, each) for each in larger] + [(larger[-2], larger[-1])][: len(larger) - 1]
    return [AttackTarget(name, system, _histories(pairs, domain), items=max(map(len, larger)))]


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


def same_for_all(items: NDArray[np.intp], users: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the same set for all users: where the items of each begin, and all items one after another."""
    return np.arange(users + 1) * len(items), np.tile(items, users)


def extended(oracle: FrequencyOracle, rows: NDArray[np.uint8], compared: Sets) -> NDArray[np.uint8]:
    """Extend rows by what they support, and how they could.

    These are the number of values of each set that a row supports, less those of the next set; the number of
    different codes that the values have; whether the row supports any of them; and whether it supports each of the
    first.
    """
    counted = [each[:_COUNTED] for each in compared]
    supported = [oracle.supported(rows, each) for each in counted]
    numbers = [each.sum(axis=1) for each in supported]
    levels = [one - other for one, other in itertools.pairwise(numbers)]
    codes = [_distinct(oracle.codes(rows, each)) for each in counted]
    bytes_ = [np.clip(level, -128, 127) + 128 for level in levels] + [np.minimum(count, 255) for count in codes]
    some = [each[:, : LOOKED_AT // 2] for each in supported] + [number[:, None] > 0 for number in numbers]
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
