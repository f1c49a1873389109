"""The attacks that frequency oracles and the answers of item sets have to withstand.

An attacker is shown reports beside what they support: a Hadamard response hides a value in no single bit, but in how
a sign agrees with a row; and a set in how many of its items agree.
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

__all__ = ["Answers", "Reports", "SetReports", "oracle_attacks", "set_attacks"]

#: Values, or items of a pair of sets, whose support an attacker looks at one by one.
_LOOKED_AT = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Reports:
    """Users who report one value: `FrequencyOracle.perturb`, and what the report supports.

    noise: makes the source of the noise, anew for each call.
    """

    oracle: FrequencyOracle
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one value."""
        rows = self.oracle.perturb(np.repeat(history[:, 0], users), entropy=self.noise())
        values = np.arange(min(self.oracle.size, _LOOKED_AT))
        return _seen(self.oracle, rows, values[::2], values[1::2])[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetReports:
    """Users who report a whole set: `FrequencyOracle.perturb_sets`, and what the report supports.

    padding: number of slots that a set is padded to.
    sides: two sets that an attacker compares.
    noise: makes the source of the noise, anew for each call.
    """

    oracle: FrequencyOracle
    padding: int
    sides: tuple[NDArray[np.intp], NDArray[np.intp]]
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        sets = _alike(np.flatnonzero(history[0]), users)
        rows = self.oracle.perturb_sets(sets.offsets, sets.items, padding=self.padding, entropy=self.noise())
        return _seen(self.oracle, rows, *self.sides)[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Users who answer phases of an epoch: `respond`, and what the answers support.

    inquiries: those of the phases. A user draws a group, and answers the phases that ask it; a single one asks all.
    sides: two sets that an attacker compares, of candidates of every inquiry.
    noise: makes the source of all randomness, anew for each call.
    """

    method: Method
    inquiries: tuple[Inquiry, ...]
    sides: tuple[NDArray[np.intp], NDArray[np.intp]]
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        held, entropy = np.flatnonzero(history[0]), self.noise()
        groups = random_words(users, entropy=entropy)
        answers = []
        for inquiry in self.inquiries:
            phase = self.method.phases[inquiry.phase - 1]
            asked = phase.asks(groups) if len(self.inquiries) > 1 else np.ones(users, dtype=np.bool_)
            count = int(np.count_nonzero(asked))
            rows = respond(self.method, inquiry, _alike(held, count), entropy=entropy)
            seen = _seen(self.method.oracle(inquiry), rows, *self._values(inquiry))
            answer = np.zeros((users, 1 + seen.shape[1]), dtype=np.uint8)
            answer[asked] = np.concatenate([np.ones((count, 1), dtype=np.uint8), seen], axis=1)
            answers.append(answer)
        return np.concatenate(answers, axis=1)[:, None]

    def _values(self, inquiry: Inquiry) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """What an oracle calls the items that are compared, or the first counts where it is asked for a count."""
        if self.method.phases[inquiry.phase - 1].asked is Target.COUNT:
            counts = np.arange(min(self.method.oracle(inquiry).size, _LOOKED_AT))
            return counts[::2], counts[1::2]
        if inquiry.candidates is None:
            return self.sides
        first, second = (np.flatnonzero(np.isin(inquiry.candidates, side)) for side in self.sides)
        return first, second


def oracle_attacks(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """What to try on an oracle: values that follow each other, and the last one and a dummy; or sets of them."""
    system: System
    if (slots := oracle.set_slots) is not None:
        sides = _sides(np.arange(oracle.size), slots=slots)
        system, neighbours = SetReports(oracle=oracle, padding=slots, sides=sides, noise=noise), "any two sets"
        pairs = _set_pairs(sides, domain=oracle.size)
    else:
        system, neighbours = Reports(oracle=oracle, noise=noise), "any two values"
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
    """What to try on the answers of item sets: on each phase, and on an epoch."""
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
            system=Answers(method=method, inquiries=inquiries_, sides=sides, noise=noise),
            pairs=pairs,
            **how,
        )

    epsilons = [phase.epsilon for phase in method.phases]
    groups = together(method.phases)
    spent, answers = max(sum(epsilons[number - 1] for number in group) for group in groups), max(map(len, groups))
    return (
        *(attack(f"phase {inquiry.phase}", (inquiry,), epsilons[inquiry.phase - 1]) for inquiry in asked),
        attack("epoch", asked, spent, reports=answers),
        attack("epoch, singly", asked, spent, reports=answers, most_trials=SINGLE_USERS, chunk=1),
    )


def _sides(items: NDArray[np.intp], *, slots: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Two sets without an item in common, and without a dummy as far as there are items."""
    return items[: 2 * slots : 2], items[1 : 2 * slots : 2]


def _set_pairs(sides: tuple[NDArray[np.intp], NDArray[np.intp]], *, domain: int) -> tuple[Histories, ...]:
    """Both of them, one item of each, and one and none."""
    first, second = sides
    sets = [(first, second), (first[:1], second[:1]), (first[:0], first[:1])]
    return tuple((_indicator(one, domain), _indicator(other, domain)) for one, other in sets)


def _indicator(items: NDArray[np.intp], domain: int) -> NDArray[np.intp]:
    history = np.zeros((1, domain), dtype=np.intp)
    history[0, items] = 1
    return history


def _alike(items: NDArray[np.intp], users: int) -> ItemSets:
    """The same set for all users."""
    return ItemSets(np.arange(users + 1) * len(items), np.tile(items, users))


def _seen(
    oracle: FrequencyOracle, rows: NDArray[np.uint8], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.uint8]:
    """Rows, by how many more values of the first side they support, and for some of the values whether they do."""
    sides = [oracle.supported(rows, side) for side in (first, second)]
    more = sides[0].sum(axis=1) - sides[1].sum(axis=1)
    some = np.concatenate([side[:, : _LOOKED_AT // 2] for side in sides], axis=1)
    levels = np.clip(more, -128, 127) + 128
    return np.concatenate(
        [rows, levels[:, None].astype(np.uint8), np.packbits(some, axis=1, bitorder="little")], axis=1
    )
