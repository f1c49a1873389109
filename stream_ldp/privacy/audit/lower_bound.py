"""A lower bound on epsilon from nothing but reports: what an attacker can show.

A fair coin decides which of two histories a user has; a rule looks at the user's reports and guesses the coin, or
abstains. If the reports are epsilon-private, a guess is right with probability at most e^epsilon / (1 + e^epsilon),
whatever the reports and the rule. So the lower confidence bound on the probability of a right guess (Clopper and
Pearson, 1934) is one on epsilon. The rule is found on one half of the users and its guesses are counted on the
other: it does not depend on what is counted, and the bound holds for any rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy

__all__ = ["CHUNK", "Histories", "LowerBound", "System", "audit"]

#: Records of one user, value indices of shape (reports, attributes), under each side of the coin.
Histories = tuple["NDArray[np.intp]", "NDArray[np.intp]"]

#: Users on whom the pair of histories is chosen, and again as many on whom the bits to watch are.
_EXPLORED = 40_000
#: Bits of the reports that a rule may look at: 4,096 patterns, so that each is seen often enough.
_MAX_WATCHED = 12
#: Chance that one step takes a bit that tells nothing about the coin. It only dilutes the rule.
_NOISE = 1e-3
#: Users who are asked for at once: of a report of 1,000 bits, the noise of so many takes 80 MB.
CHUNK = 10_000


class System(Protocol):
    """What is attacked: anything that turns the records of users into reports."""

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """What each of many users with the same history sends: packed rows, shape (users, reports, width)."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LowerBound:
    """What an audit has shown.

    epsilon: with probability of at least `confidence`, over the audit's randomness, it does not exceed the true one.
    trials: users with each history, about, on whom the guesses were counted.
    guesses, right: guesses made and those that were right.
    """

    epsilon: float
    confidence: float
    trials: int
    guesses: int
    right: int


def audit(
    system: System,
    pairs: Sequence[Histories],
    *,
    trials: int,
    confidence: float,
    entropy: Entropy,
    chunk: int = CHUNK,
) -> LowerBound:
    """Attack a system: tell one history from another by its reports.

    pairs: of which the one that is easiest to tell apart, at first sight, is attacked.
    trials: users with each history, about, whose guesses are counted. As many others find the rule.
    confidence: of the lower bound, in (0, 1).
    entropy: of the coin, not of the system.
    chunk: users that the system is asked for at once. Noise that is the same in every call shows where it is 1.

    Raises:
        ValueError: trials or confidence is out of range.
    """
    if trials < 100:
        raise ValueError(f"at least 100 trials are needed to find a rule, got {trials}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is between 0 and 1, both excluded, got {confidence}")
    error = 1 - confidence
    explored = min(_EXPLORED, trials // 2)

    def play(pair: Histories, users: int) -> Iterator[_Round]:
        return _play(system, pair, users=users, entropy=entropy, chunk=chunk)

    def first_sight(pair: Histories) -> float:
        look = _joined(play(pair, max(1, explored // len(pairs))))
        table = _count([look], _watched(look))
        return float(_bound(*_score(table, _rule(table, error)), error))

    pair = max(pairs, key=first_sight)
    watched = _watched(_joined(play(pair, explored)))
    rule = _rule(_count(play(pair, 2 * (trials - explored)), watched), error)
    right, guesses = _score(_count(play(pair, 2 * trials), watched), rule)
    return LowerBound(
        epsilon=float(_bound(right, guesses, error)),
        confidence=confidence,
        trials=trials,
        guesses=guesses,
        right=right,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Round:
    """The reports of some users, packed rows of shape (users, bytes), and the side of each one's coin."""

    rows: NDArray[np.uint8]
    coin: NDArray[np.bool_]


def _play(system: System, pair: Histories, *, users: int, entropy: Entropy, chunk: int) -> Iterator[_Round]:
    for start in range(0, users, chunk):
        length = min(chunk, users - start)
        heads = int(entropy.integers(np.full(length, 2)).sum())
        sides = [(pair[0], length - heads), (pair[1], heads)]
        rows = [system.reports(history, count).reshape(count, -1) for history, count in sides if count]
        yield _Round(rows=np.concatenate(rows), coin=np.arange(length) >= length - heads)


def _joined(rounds: Iterator[_Round]) -> _Round:
    parts = list(rounds)
    return _Round(
        rows=np.concatenate([part.rows for part in parts]), coin=np.concatenate([part.coin for part in parts])
    )


def _watched(look: _Round) -> list[int]:
    """Bits whose pattern tells the coin, chosen one by one for what they add to the others.

    A step takes the bit with the largest likelihood-ratio statistic G of coin against pattern, as long as chance
    would not often make it that large.
    """
    bits = np.ascontiguousarray(np.unpackbits(look.rows, axis=1, bitorder="little").T)
    candidates = [bit for bit in range(len(bits)) if 0 < np.count_nonzero(bits[bit]) < len(look.coin)]
    watched: list[int] = []
    pattern = np.zeros(len(look.coin), dtype=np.intp)
    known = 0.0
    while candidates and len(watched) < _MAX_WATCHED:
        told = [_information(_table(2 * pattern + bits[bit], look.coin, 2 << len(watched))) for bit in candidates]
        best = int(np.argmax(told))
        free = len(np.unique(pattern))
        if 2 * (told[best] - known) < special.chdtri(free, _NOISE / len(candidates)):
            break
        known = told[best]
        watched.append(candidates.pop(best))
        pattern = 2 * pattern + bits[watched[-1]]
    return watched


def _count(rounds: Iterable[_Round], watched: Sequence[int]) -> NDArray[np.int64]:
    """How often each pattern of the watched bits goes with each side of the coin, shape (patterns, 2)."""
    table = np.zeros((1 << len(watched), 2), dtype=np.int64)
    for each in rounds:
        pattern = np.zeros(len(each.coin), dtype=np.intp)
        for bit in watched:
            pattern = 2 * pattern + ((each.rows[:, bit // 8] >> (bit % 8)) & 1)
        table += _table(pattern, each.coin, len(table))
    return table


def _table(pattern: NDArray[np.intp], coin: NDArray[np.bool_], patterns: int) -> NDArray[np.int64]:
    return np.bincount(2 * pattern + coin, minlength=2 * patterns).reshape(patterns, 2)


def _information(table: NDArray[np.int64]) -> float:
    """Mutual information of pattern and coin in the sample, in nats, times the sample's size."""
    parts = (table, table.sum(axis=1), table.sum(axis=0), table.sum())
    cells, rows, columns, whole = (float(special.xlogy(part, part).sum()) for part in parts)
    return cells - rows - columns + whole


def _rule(table: NDArray[np.int64], error: float) -> NDArray[np.int8]:
    """The guess for each pattern: 0 or 1, or -1 to abstain.

    Patterns are taken in the order of how surely they tell the coin, and so many as give the best bound here.
    """
    # Half a user more in each cell: a pattern seen once is no proof.
    smooth = table + 0.5
    odds = np.log(smooth[:, 1] / smooth[:, 0])
    deviation = np.sqrt((1 / smooth).sum(axis=1))
    order = np.argsort(deviation - np.abs(odds), kind="stable")
    right, guesses = np.cumsum(table.max(axis=1)[order]), np.cumsum(table.sum(axis=1)[order])
    taken = order[: 1 + int(np.argmax(_bound(right, guesses, error)))]
    rule = np.full(len(table), -1, dtype=np.int8)
    rule[taken] = odds[taken] > 0
    return rule


def _score(table: NDArray[np.int64], rule: NDArray[np.int8]) -> tuple[int, int]:
    """Right guesses and guesses."""
    guessed = table[rule >= 0]
    return int(guessed[np.arange(len(guessed)), rule[rule >= 0]].sum()), int(guessed.sum())


def _bound(right: NDArray[np.int64] | int, guesses: NDArray[np.int64] | int, error: float) -> NDArray[np.float64]:
    """Lower bounds on epsilon: the log-odds of the Clopper-Pearson bounds on the chance of a right guess."""
    right = np.asarray(right)
    # Its formula has no value where no guess is right; the bound is 0 there.
    chance = special.betaincinv(np.maximum(right, 1), guesses - right + 1, error)
    return np.where(right > 0, np.maximum(special.logit(chance), 0.0), 0.0)
