"""Epsilon of repeated reports of item sets that show a permanent response, by enumeration of all sets and reports.

The code of a client is played from the set to the packed rows of several reports, over few items. What the user's
secret determines is drawn where it is first asked for, and is the same whenever it is asked for again: the keyed
function is taken for a random one. Infinitely many reports reveal the permanent response and nothing else, so its
distribution stands for them.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from stream_ldp.audit.audited import Claim, Row
from stream_ldp.audit.comparison import Outputs, compared
from stream_ldp.audit.enumerate import UnknownDistribution, distribution
from stream_ldp.audit.output_distribution import all_sets, largest_loss
from stream_ldp.mechanisms import Entropy, LolohaResponse, SeededEntropy
from stream_ldp.mechanisms.loloha import Permanent
from stream_ldp.mechanisms.randomness.requests import RequestEntropy
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import Inquiry, Method
from stream_ldp.sets.sampling import memoised_reports, respond

Drawn = TypeVar("Drawn")

#: Numbers of reports of a set that does not change, each with the items over which they are enumerated; half as many
#: are the most slots that a set is padded to, so that two disjoint sets can fill all slots.
_REPORTS = {1: 4, 2: 4, 3: 2, math.inf: 4}

#: Numbers of reports of a set that may change.
_CHANGING_REPORTS = (2, 3, 4)

#: Users in one call whose reports are compared draw for draw.
_USERS = (1, 2, 100)


def repeated_losses(method: Method) -> list[Claim]:
    """Return the loss of repeated reports of a set that does not change; none if no phase of the method memoises.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    found = []
    for inquiry, oracle in _memoised(method):
        cost = method.phases[inquiry.phase - 1].memoised
        for reports, items in _REPORTS.items():
            small, padding = _in_miniature(oracle, inquiry, items=items)
            outputs = [
                distribution(partial(_permanent, small, held, padding))
                if reports == math.inf
                else distribution(partial(_sent, small, [held] * int(reports), padding))
                for held in all_sets(items)
            ]
            found.append(
                Claim(
                    about={"phase": "all", "neighbours": "any two sets", "reports": reports},
                    allowed=math.inf if cost is None else cost.loss(reports=reports),
                    claimed=oracle.response.loss(reports=reports),
                    enumerated=largest_loss(outputs),
                    tight=True,
                )
            )
    return found


def changing_losses(method: Method) -> list[Row]:
    """Return the loss of reports of a user who holds one of two items, either one before each; no formula covers it.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    return [
        {
            "neighbours": "any two users",
            "reports": reports,
            "if_constant": oracle.response.loss(reports=reports),
            "enumerated": largest_loss(
                distribution(partial(_sent, oracle.resized(2, padding=1, epsilon=oracle.epsilon), history, 1))
                for history in itertools.product([(0,), (1,)], repeat=reports)
            ),
        }
        for _, oracle in _memoised(method)
        for reports in _CHANGING_REPORTS
    ]


def repeated_differences(method: Method) -> Iterator[str]:
    """Yield where a client's code does not repeat what is permanent, or not through fresh noise; nothing if it does.

    Raises:
        UnknownDistribution: the probabilities cannot be found.
    """
    for inquiry, oracle in _memoised(method):
        for users in _USERS:
            sets = ItemSets.of([range(user % (method.domain + 1)) for user in range(users)])
            sent = respond(
                method,
                inquiry,
                sets,
                entropy=SeededEntropy(users),
                permanent=[_seeded(user) for user in range(users)],
            )
            # The permanent responses of all users, and then fresh noise for all of them.
            kept = [
                oracle.permanent(sets.take(np.array([user])).items, padding=inquiry.padding, words=_seeded(user))
                for user in range(users)
            ]
            made = oracle.refreshed(np.concatenate(kept), entropy=SeededEntropy(users))
            if not np.array_equal(sent, made):
                yield (
                    f"phase {inquiry.phase}: respond, {users} users in a call: it does not send their permanent "
                    "responses through fresh noise"
                )
                break
        small, padding = _in_miniature(oracle, inquiry, items=4)
        for held in all_sets(4):
            permanent = distribution(partial(_permanent, small, held, padding))
            both = distribution(partial(_sent, small, [held] * 2, padding))
            what = f"phase {inquiry.phase}: memoised_reports, 2 of one permanent response to {len(held)} items"
            if wrong := list(compared(what, both, _refreshed(small, permanent, reports=2))):
                yield from wrong
                break
        small = oracle.resized(2, padding=1, epsilon=oracle.epsilon)
        two_signs = largest_loss(
            distribution(partial(_sent, small, history, 1)) for history in ([(0,), (1,)], [(1,), (0,)])
        )
        if not math.isclose(two_signs, 2 * small.epsilon, abs_tol=1e-9):
            yield (
                f"phase {inquiry.phase}: a report of each sign loses {two_signs!r} nats, not twice "
                f"{small.epsilon!r}: their permanent responses are not independent"
            )


def _memoised(method: Method) -> Iterator[tuple[Inquiry, LolohaResponse]]:
    if method.memoising is not None:
        yield method.first(), method.memoising


def _in_miniature(oracle: LolohaResponse, inquiry: Inquiry, *, items: int) -> tuple[LolohaResponse, int]:
    """Return the oracle over so many items, and the number of slots of a set."""
    return oracle.resized(items, padding=1, epsilon=oracle.epsilon), min(inquiry.padding, items // 2)


def _refreshed(oracle: LolohaResponse, permanent: Outputs, *, reports: int) -> Outputs:
    """Return the probabilities of so many reports of these permanent responses, as the oracle states its noise."""
    sent: Outputs = {}
    flip = 1 << oracle.index_bits
    for row, chance in permanent.items():
        kept = int.from_bytes(row, "little")
        for flipped in itertools.product((0, 1), repeat=reports):
            said = b"".join((kept ^ flip * each).to_bytes(len(row), "little") for each in flipped)
            noise = math.prod((oracle.response.fresh.probability(0, each) for each in flipped), start=Fraction(1))
            sent[said] = sent.get(said, Fraction(0)) + chance * noise
    return sent


def _sent(oracle: LolohaResponse, history: Sequence[tuple[int, ...]], padding: int, entropy: Entropy) -> bytes:
    """Return the reports of one user with these sets, one after another."""
    permanent = _Memory(entropy)
    return b"".join(
        memoised_reports(
            ItemSets.of([held]), padding=padding, oracle=oracle, entropy=entropy, permanent=[permanent]
        ).tobytes()
        for held in history
    )


def _permanent(oracle: LolohaResponse, held: tuple[int, ...], padding: int, entropy: Entropy) -> bytes:
    return oracle.permanent(np.array(held, dtype=np.int64), padding=padding, words=_Memory(entropy)).tobytes()


def _seeded(user: int) -> Permanent:
    return lambda purpose: SeededEntropy(np.random.SeedSequence([user, *purpose]))


@dataclass(frozen=True, slots=True)
class _Memory:
    """What a secret determines, as a random function: decisions are drawn once for each purpose.

    entropy: draws them.
    """

    entropy: Entropy
    drawn: dict[bytes, list[tuple[bytes, Any]]] = field(default_factory=dict)

    def __call__(self, purpose: bytes) -> Entropy:
        """Return the source for a purpose, from its first decision on."""
        return _Remembered(self.entropy, self.drawn.setdefault(purpose, []))


class _Remembered(RequestEntropy):
    """A source that repeats what was drawn for the same purpose before, and draws what was not."""

    def __init__(self, entropy: Entropy, drawn: list[tuple[bytes, Any]]) -> None:
        self._entropy = entropy
        self._drawn = drawn
        self._next = 0

    def _answer(self, draw: Callable[[Entropy], Drawn], request: bytes) -> Drawn:
        if self._next == len(self._drawn):
            self._drawn.append((request, draw(self._entropy)))
        before, decided = self._drawn[self._next]
        if before != request:
            raise UnknownDistribution("what is permanent is made of other decisions than before")
        self._next += 1
        drawn: Drawn = decided
        return drawn
