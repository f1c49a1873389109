"""A lower bound on epsilon from nothing but reports, as an attacker can prove it.

A fair coin decides which of two histories a user has; a rule looks at the user's reports and guesses the coin, or
abstains. If the reports are epsilon-private, a guess is right with probability at most e^epsilon / (1 + e^epsilon),
whatever the reports and the rule. So a lower confidence bound on the probability of a right guess (Clopper and
Pearson, 1934) gives one on epsilon. The rule is found on one half of the users, and its guesses are counted on the
other half. So the bound holds for any rule.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stream_ldp.mechanisms import Entropy
from stream_ldp.steps import steps

#: The records of one user, value indices of shape (reports, attributes), for each side of the coin.
Histories = tuple["NDArray[np.intp]", "NDArray[np.intp]"]

#: Users on whom the pair of histories is chosen; the bits to watch are chosen on as many others.
_EXPLORED = 40_000
#: Most features of the reports that a rule looks at: of 4,096 patterns, each is seen often enough.
_MAX_WATCHED = 12
#: Probability that one step takes a feature which does not depend on the coin. Such a one only dilutes the rule.
_NOISE = 1e-3
#: Pairs of bits that are candidates beside all bits, and the most bits that are paired: with 40,000 users, so many
#: take half a second.
_PAIRS = 32
_MAX_PAIRED = 512
#: Users whose reports are made at once: with 1,000 bits each, their noise takes 80 MB.
CHUNK = 10_000


#: What a rule looks at: one bit of the reports, or the exclusive or of two, which may show what neither shows alone.
Feature = tuple[int, ...]


#: The target of an attack. Given a history and a number of users who all have it, it returns what they send: packed
#: rows, uint8, shape (users, reports, width).
System = Callable[["NDArray[np.intp]", int], "NDArray[np.uint8]"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LowerBound:
    """The result of an audit.

    epsilon: the bound; with probability at least `confidence` over the audit's randomness, true epsilon is not less.
    trials: number of users, about, with each history on whom the guesses were counted.
    guesses, right: number of guesses made, and of those that were right.
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
    """Attack a system: distinguish one history from another by the reports.

    pairs: pairs of histories; the one that is easiest to distinguish in a first look is attacked.
    trials: number of users, about, with each history for whom guesses are counted. As many others serve to find the
        rule.
    confidence: of the lower bound, in (0, 1).
    entropy: source of the coin, not of the system's noise.
    chunk: number of users in one call of the system. With 1, noise that is the same in every call is found.

    Raises:
        ValueError: trials or confidence is out of range.
    """
    if trials < 100:
        raise ValueError(f"at least 100 trials are needed to find a rule, got {trials}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is between 0 and 1, both excluded, got {confidence}")
    error = 1 - confidence
    explored = min(_EXPLORED, trials // 2)

    def play(pair: Histories, users: int) -> Iterator[_Trials]:
        return _play(system, pair, users=users, entropy=entropy, chunk=chunk)

    def first_look(pair: Histories) -> float:
        look = _concatenated(play(pair, max(1, explored // len(pairs))))
        table = _count([look], _features(look))
        return float(_bound(*_score(table, _rule(table, error)), error))

    pair = max(pairs, key=first_look)
    watched = _features(_concatenated(play(pair, explored)))
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
class _Trials:
    """The reports of some users, packed rows of shape (users, bytes), and each user's side of the coin."""

    rows: NDArray[np.uint8]
    coin: NDArray[np.bool_]


def _play(system: System, pair: Histories, *, users: int, entropy: Entropy, chunk: int) -> Iterator[_Trials]:
    for start in steps(range(0, users, chunk), "attacked users, in parts"):
        length = min(chunk, users - start)
        heads = int(entropy.integers(np.full(length, 2)).sum())
        sides = [(pair[0], length - heads), (pair[1], heads)]
        rows = [system(history, count).reshape(count, -1) for history, count in sides if count]
        yield _Trials(rows=np.concatenate(rows), coin=np.arange(length) >= length - heads)


def _concatenated(runs: Iterable[_Trials]) -> _Trials:
    parts = list(runs)
    return _Trials(
        rows=np.concatenate([part.rows for part in parts]), coin=np.concatenate([part.coin for part in parts])
    )


def _features(look: _Trials) -> list[Feature]:
    """Choose features that depend on the coin, one by one for the information that each adds to the others.

    A step takes the feature with the largest likelihood-ratio statistic G of coin against pattern, as long as chance
    would not often make it that large.
    """
    bits = np.ascontiguousarray(np.unpackbits(look.rows, axis=1, bitorder="little").T)
    live = [bit for bit in range(len(bits)) if 0 < np.count_nonzero(bits[bit]) < len(look.coin)]
    candidates: list[Feature] = [*((bit,) for bit in live), *_pairs(bits, live[:_MAX_PAIRED], look.coin)]
    searched = len(live) + len(live[:_MAX_PAIRED]) ** 2 // 2
    watched: list[Feature] = []
    pattern = np.zeros(len(look.coin), dtype=np.intp)
    known = 0.0
    while candidates and len(watched) < _MAX_WATCHED:
        information = [
            _information(_table(2 * pattern + _value(bits, feature), look.coin, 2 << len(watched)))
            for feature in candidates
        ]
        best = int(np.argmax(information))
        free = len(np.unique(pattern))
        if 2 * (information[best] - known) < special.chdtri(free, _NOISE / searched):
            break
        known = information[best]
        watched.append(candidates.pop(best))
        pattern = 2 * pattern + _value(bits, watched[-1])
    return watched


def _pairs(bits: NDArray[np.uint8], paired: Sequence[int], coin: NDArray[np.bool_]) -> list[Feature]:
    """Return the pairs of bits whose correlation depends most on the coin."""
    if len(paired) < 2 or coin.all() or not coin.any():
        return []
    signs = 2 * bits[paired].astype(np.float32) - 1
    heads, tails = (side @ side.T / side.shape[1] for side in (signs[:, coin], signs[:, ~coin]))
    first, second = np.triu_indices(len(paired), 1)
    order = np.argsort(-np.abs(heads - tails)[first, second], kind="stable")[:_PAIRS]
    return [(paired[one], paired[other]) for one, other in zip(first[order], second[order], strict=True)]


def _value(bits: NDArray[np.uint8], feature: Feature) -> NDArray[np.uint8]:
    value: NDArray[np.uint8] = np.bitwise_xor.reduce(bits[list(feature)], axis=0)
    return value


def _count(runs: Iterable[_Trials], watched: Sequence[Feature]) -> NDArray[np.int64]:
    """Count how often each pattern of the watched features has each side of the coin, int64, shape (patterns, 2)."""
    table = np.zeros((1 << len(watched), 2), dtype=np.int64)
    for each in runs:
        pattern = np.zeros(len(each.coin), dtype=np.intp)
        for feature in watched:
            value = np.bitwise_xor.reduce([each.rows[:, bit // 8] >> (bit % 8) & 1 for bit in feature])
            pattern = 2 * pattern + value
        table += _table(pattern, each.coin, len(table))
    return table


def _table(pattern: NDArray[np.intp], coin: NDArray[np.bool_], patterns: int) -> NDArray[np.int64]:
    return np.bincount(2 * pattern + coin, minlength=2 * patterns).reshape(patterns, 2)


def _information(table: NDArray[np.int64]) -> float:
    """Return the mutual information of pattern and coin in the sample, in nats, times the sample's size."""
    parts = (table, table.sum(axis=1), table.sum(axis=0), table.sum())
    cells, rows, columns, whole = (float(special.xlogy(part, part).sum()) for part in parts)
    return cells - rows - columns + whole


def _rule(table: NDArray[np.int64], error: float) -> NDArray[np.int8]:
    """Return the guess for each pattern, int8, shape (patterns,): 0 or 1, or -1 to abstain.

    Patterns are taken in the order of how surely they predict the coin, as many as give the best bound here.
    """
    # Half a user is added to each cell, so that a pattern that was seen once does not count as certain.
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
    """Return the number of right guesses, and of all guesses."""
    guessed = table[rule >= 0]
    return int(guessed[np.arange(len(guessed)), rule[rule >= 0]].sum()), int(guessed.sum())


def _bound(right: NDArray[np.int64] | int, guesses: NDArray[np.int64] | int, error: float) -> NDArray[np.float64]:
    """Return lower bounds on epsilon: the log-odds of the Clopper-Pearson bounds on the chance of a right guess."""
    right = np.asarray(right)
    # The formula has no value where no guess is right; the bound is 0 there.
    chance = special.betaincinv(np.maximum(right, 1), guesses - right + 1, error)
    return np.where(right > 0, np.maximum(special.logit(chance), 0.0), 0.0)
