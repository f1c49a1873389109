"""The attacks that frequency oracles and the answers of item sets have to withstand.

An attacker is shown reports beside what they support: a Hadamard response hides a value in no single bit, but in how
a sign agrees with a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.heavy_hitters.item_sets import ItemSets
from stream_ldp.heavy_hitters.phases import Asked
from stream_ldp.heavy_hitters.sampling import respond
from stream_ldp.mechanisms import DirectResponse, HadamardResponse, SetHadamardResponse, UnaryResponse, Values
from stream_ldp.privacy.attacks import SINGLE_USERS, Attack
from stream_ldp.privacy.audit import CHUNK
from stream_ldp.privacy.item_enumeration import inquiries, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.heavy_hitters.phases import Inquiry, Method
    from stream_ldp.mechanisms import Entropy, FrequencyOracle

__all__ = ["Answers", "Reports", "oracle_attacks", "set_attacks", "supported"]

#: Items of a pair of sets, or values, whose support an attacker looks at.
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
        return _seen(self.oracle, rows, np.arange(min(self.oracle.size, _LOOKED_AT)))[:, None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Users who answer phases of an epoch: `respond`, and what the answers support.

    inquiries: those of the phases. A user draws a group, and answers the phases that ask it; a single one asks all.
    items: whose support is looked at, candidates of every inquiry.
    noise: makes the source of all randomness, anew for each call.
    """

    method: Method
    inquiries: tuple[Inquiry, ...]
    items: NDArray[np.intp]
    noise: Callable[[], Entropy]

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        held, entropy = np.flatnonzero(history[0]), self.noise()
        groups = entropy.words(users)
        answers = []
        for inquiry in self.inquiries:
            phase = self.method.phases[inquiry.phase - 1]
            asked = phase.asks(groups) if len(self.inquiries) > 1 else np.ones(users, dtype=np.bool_)
            count = int(np.count_nonzero(asked))
            sets = ItemSets(np.arange(count + 1) * len(held), np.tile(held, count))
            rows = respond(self.method, inquiry, sets, entropy=entropy)
            seen = _seen(self.method.oracle(inquiry), rows, self._values(inquiry))
            answer = np.zeros((users, 1 + seen.shape[1]), dtype=np.uint8)
            answer[asked] = np.concatenate([np.ones((count, 1), dtype=np.uint8), seen], axis=1)
            answers.append(answer)
        return np.concatenate(answers, axis=1)[:, None]

    def _values(self, inquiry: Inquiry) -> NDArray[np.intp]:
        """What an oracle calls the items that are looked at, or the first counts where it is asked for a count."""
        if self.method.phases[inquiry.phase - 1].asked is Asked.COUNT:
            return np.arange(min(self.method.oracle(inquiry).size, _LOOKED_AT))
        if inquiry.candidates is None:
            return self.items
        return np.flatnonzero(np.isin(inquiry.candidates, self.items))


def oracle_attacks(oracle: FrequencyOracle, *, noise: Callable[[], Entropy]) -> tuple[Attack, ...]:
    """What to try on an oracle: values that follow each other, and the last one and a dummy."""
    choices = oracle.counters if isinstance(oracle, DirectResponse) else oracle.size + 1
    values = {*range(min(choices - 1, _LOOKED_AT)), choices - 2}
    pairs = tuple((np.array([[value]]), np.array([[value + 1]])) for value in sorted(values))
    system = Reports(oracle=oracle, noise=noise)
    return tuple(
        Attack(
            target=target,
            neighbours="any two values",
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
    most = max(inquiry.padding for inquiry in asked)
    pairs = tuple(
        (_indicator(one, method.domain), _indicator(other, method.domain))
        for one, other in (
            (items[:1], items[1:2]),
            (items[:0], items[:1]),
            # Two sets without a dummy and without an item in common, as far as there are items.
            (items[: 2 * most : 2], items[1 : 2 * most : 2]),
        )
    )

    def attack(target: str, inquiries_: tuple[Inquiry, ...], epsilon: float, **how: int) -> Attack:
        system = Answers(method=method, inquiries=inquiries_, items=items[:_LOOKED_AT], noise=noise)
        return Attack(
            target=target,
            neighbours="any two sets",
            reports=len(inquiries_),
            values=Values.CONSTANT,
            claimed=epsilon,
            system=system,
            pairs=pairs,
            **how,
        )

    epsilons = [phase.epsilon for phase in method.phases]
    spent = max(sum(epsilons[number - 1] for number in group) for group in together(method.phases))
    return (
        *(attack(f"phase {inquiry.phase}", (inquiry,), epsilons[inquiry.phase - 1]) for inquiry in asked),
        attack("epoch", asked, spent),
        attack("epoch, singly", asked, spent, most_trials=SINGLE_USERS, chunk=1),
    )


def _indicator(items: NDArray[np.integer], domain: int) -> NDArray[np.intp]:
    history = np.zeros((1, domain), dtype=np.intp)
    history[0, items] = 1
    return history


def _seen(oracle: FrequencyOracle, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Rows, and after them a bit for each value that they support."""
    return np.concatenate([rows, np.packbits(supported(oracle, rows, values), axis=1, bitorder="little")], axis=1)


def supported(oracle: FrequencyOracle, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each row supports each value, shape (n, values)."""
    bits = np.unpackbits(rows, axis=1, count=oracle.bits, bitorder="little").astype(np.int64)
    found: NDArray[np.bool_]
    match oracle:
        case UnaryResponse():
            found = bits[:, values] == 1
        case DirectResponse():
            found = (bits @ (1 << np.arange(oracle.bits)))[:, None] == values
        case HadamardResponse() | SetHadamardResponse():
            width = oracle.index_bits // oracle.hash_bits
            indices = bits[:, : oracle.index_bits].reshape(len(rows), oracle.hash_bits, width)
            signs = indices @ (values >> np.arange(width)[:, None] & 1) & 1
            found = np.all(signs == bits[:, oracle.index_bits :, None], axis=1)
        case _:
            raise ValueError(f"{type(oracle).__name__} is of no kind that is attacked")
    return found
