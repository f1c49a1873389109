"""Exact output distributions: every outcome of every random decision is played, with its exact probability.

Nothing is sampled, and no statement of a mechanism about itself is trusted: its own code runs once for each way in
which its decisions may turn out. A mechanism takes seven kinds of decisions (`stream_ldp.mechanisms.Entropy`); the
client makes them of random words (`WordEntropy`). Each outcome is made by that same code, of words at its edge: the
last word below a threshold, or the first that is not. For a uniform integer, it is a word that must be drawn again,
followed by the last that gives the outcome. So an edge that is off by one word shows as another distribution. That
the words of very many responses, which are compared bit by bit (`randomness.lanes`), decide as whole words do is for
its tests to show.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import RESOLUTION, Entropy, GivenWords
from stream_ldp.mechanisms.randomness.entropy import WordEntropy
from stream_ldp.steps import steps

Output = TypeVar("Output", bound=Hashable)

#: Most ways in which the decisions of one run may turn out; so many take half a minute.
MAX_WAYS = 2**19

#: What is counted, of all enumerations of an audit together.
ENUMERATED = "enumerated ways"


class UnknownDistribution(StreamLDPError, ValueError):
    """An output distribution cannot be enumerated."""


def distribution(
    run: Callable[[Entropy], Output], *, only: range | None = None, given: Sequence[int] = (), most: int | None = None
) -> dict[Output, Fraction]:
    """Return the exact probability of everything that `run` may return.

    run: a function of its random decisions alone.
    only: places, in every request, of the decisions that are played, while all others turn out as their first
        outcome. This enumerates the symbols of a wide report one by one. It does not find two symbols that share a
        decision: the enumeration of a small report as a whole does, and an attack.
    given: numbers that decide the first decisions, each modulo the number of outcomes; the probabilities are those
        given these outcomes.
    most: of a decision with more outcomes, the first two and the last two are played alone. The probabilities then
        sum to less than 1, but where such a decision comes last, and all that are played return the same: it is then
        a draw that is not used, and counts in full.

    Raises:
        UnknownDistribution: it uses randomness in another way, or has more than `MAX_WAYS` ways to turn out.
    """
    # Of each output, the sum of the numerators over each denominator, since there are few of these.
    found: dict[Output, Counter[int]] = defaultdict(Counter)
    last: dict[tuple[int, ...], list[tuple[Output, _Way]]] = defaultdict(list)
    for output, way in _ways(run, only=only, given=given, most=most):
        if most is not None and way.choices and way.choices[-1] > most:
            last[way.before_last].append((output, way))
        else:
            found[output][way.denominator] += way.numerator
    for alike in last.values():
        # Probabilities that leave most outcomes out may be compared with each other, but not with those that do not.
        idle = len({output for output, _ in alike}) == 1
        for output, way in alike[:1] if idle else alike:
            found[output][way.denominator] += way.numerator * (way.choices[-1] if idle else 1)
    return {
        output: sum(map(Fraction, numerators.values(), numerators.keys()), start=Fraction(0))
        for output, numerators in found.items()
    }


def played(run: Callable[[Entropy], Output]) -> list[tuple[Output, NDArray[np.uint32]]]:
    """Return what `run` returns for each way in which its decisions turn out, and the words that decide so.

    Raises:
        UnknownDistribution: see `distribution`.
    """
    return [(output, np.array(way.words_used, dtype=np.uint32)) for output, way in _ways(run)]


def _ways(
    run: Callable[[Entropy], Output], *, only: range | None = None, given: Sequence[int] = (), most: int | None = None
) -> Iterator[tuple[Output, _Way]]:
    todo: list[list[int]] = [[]]
    for _ in steps(repeat(None, MAX_WAYS), ENUMERATED):
        if not todo:
            return
        known = todo.pop()
        way = _Way(known, only=only, given=given)
        yield run(way), way
        # The ways that agree with this one up to a decision, and differ there, are played later.
        outcomes = known + [0] * (len(way.choices) - len(known))
        for decision in range(len(known), len(way.choices)):
            others: Sequence[int] = range(1, way.choices[decision])
            if most is not None and way.choices[decision] > most:
                others = (1, way.choices[decision] - 2, way.choices[decision] - 1)
            if len(others) >= MAX_WAYS:
                break
            todo += [[*outcomes[:decision], other] for other in others]
        else:
            continue
        break
    raise UnknownDistribution(f"the decisions may turn out in more than {MAX_WAYS:,} ways")


class _Way:
    """An `Entropy` whose decisions turn out in one given way.

    The first decisions are given, those after them have the listed outcomes, and all others the first of theirs.

    choices: number of possible outcomes of each decision that was taken and not given.
    before_last: the outcomes of all these decisions but the last.
    words_used: the words that were decided with.
    numerator, denominator: of the probability that all of them turn out so. The fraction is not reduced, which would
        take longer than all else.
    """

    def __init__(self, outcomes: Sequence[int], *, only: range | None, given: Sequence[int]) -> None:
        self.choices: list[int] = []
        self.words_used: list[int] = []
        self.numerator = self.denominator = 1
        self._outcomes = outcomes
        self._only = only
        self._given = list(reversed(given))

    @property
    def before_last(self) -> tuple[int, ...]:
        taken = [*self._outcomes, *[0] * len(self.choices)]
        return tuple(taken[: len(self.choices) - 1])

    def below(self, thresholds: NDArray[np.integer]) -> NDArray[np.bool_]:
        decided = self._decided(thresholds.shape, [_Below(each) for each in thresholds.ravel().tolist()])
        return decided.astype(np.bool_)

    def responses(self, states: NDArray[np.bool_], *, zero: int, one: int) -> NDArray[np.bool_]:
        return self.below(np.where(states, one, zero))

    def integers(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._decided(sizes.shape, [_Integer(each) for each in sizes.ravel().tolist()])

    def shifts(self, kept: NDArray[np.integer], others: NDArray[np.integer]) -> NDArray[np.int64]:
        kept, others = np.broadcast_arrays(kept, others)
        each = map(_Shift, kept.ravel().tolist(), others.ravel().tolist())
        return self._decided(kept.shape, list(each))

    def outcomes(self, ends: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._decided((len(ends),), [_Choice(tuple(row)) for row in ends.tolist()])

    def subsets(self, sizes: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
        every = [_Subset(size, most) for size in sizes.ravel().tolist()]
        which = self._decided(sizes.shape, every)
        members = zip(every, which.tolist(), strict=True)
        return np.array(
            [subset >> place & 1 for each, subset in members for place in range(each.size)], dtype=np.bool_
        )

    def holding(
        self,
        own: NDArray[np.integer],
        *,
        sizes: NDArray[np.integer],
        members: NDArray[np.integer],
        kept: NDArray[np.integer],
    ) -> NDArray[np.int64]:
        columns = list(zip(sizes.tolist(), members.tolist(), kept.tolist(), strict=True))
        each = [_Holding(value, *column) for row in own.tolist() for value, column in zip(row, columns, strict=True)]
        return self._decided(own.shape, each)

    def words(self, n: int) -> NoReturn:
        """Raise UnknownDistribution: what a mechanism would make of raw words cannot be enumerated."""
        raise UnknownDistribution(f"{n} raw words are asked for, not decisions that can be enumerated")

    def _decided(self, shape: tuple[int, ...], decisions: Sequence[_Decision]) -> NDArray[np.int64]:
        only = self._only
        if only is not None and only[-1] >= len(decisions):
            raise UnknownDistribution(f"{len(decisions)} decisions are taken, and none at place {only[-1]}")
        drawn = [
            self._next(each) if only is None or place in only else self._made(each, 0)
            for place, each in enumerate(decisions)
        ]
        return np.array(drawn, dtype=np.int64).reshape(shape)

    def _next(self, decision: _Decision) -> int:
        outcomes = decision.outcomes
        if outcomes == 1:
            return self._made(decision, 0)
        if self._given:
            return self._made(decision, self._given.pop() % outcomes)
        number = len(self.choices)
        self.choices.append(outcomes)
        outcome = self._outcomes[number] if number < len(self._outcomes) else 0
        numerator, denominator = decision.chance(outcome)
        self.numerator *= numerator
        self.denominator *= denominator
        return self._made(decision, outcome)

    def _made(self, decision: _Decision, outcome: int) -> int:
        words, result = _made(decision, outcome, decision.code)
        self.words_used += words
        return result


class _Decision(ABC):
    """A decision with a number of possible outcomes.

    method: name of the method of `WordEntropy` that decides.
    """

    __slots__ = ()

    method: ClassVar[str]

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Number of possible outcomes."""

    @property
    def code(self) -> Callable[..., Any]:
        """The shipped code that decides, of given words."""
        code: Callable[..., Any] = getattr(WordEntropy, self.method)
        return code

    @abstractmethod
    def chance(self, outcome: int) -> tuple[int, int]:
        """Return numerator and denominator of an outcome's probability."""

    @abstractmethod
    def words(self, outcome: int) -> list[int]:
        """Return the words at the edge of an outcome."""

    @abstractmethod
    def made(self, words: GivenWords) -> int:
        """Return what a client makes of words."""


@dataclass(frozen=True, slots=True)
class _Below(_Decision):
    method: ClassVar[str] = "below"

    threshold: int

    @property
    def outcomes(self) -> int:
        return 2 if 0 < self.threshold < RESOLUTION else 1

    def chance(self, outcome: int) -> tuple[int, int]:
        return (RESOLUTION - self.threshold if outcome else self.threshold), RESOLUTION

    def words(self, outcome: int) -> list[int]:
        # A broken mechanism may ask for more than certainty: every word is below.
        last = min(self.threshold, RESOLUTION) - 1
        return [last + 1 if outcome or last < 0 else last]

    def made(self, words: GivenWords) -> int:
        return int(self.code(words, np.array([self.threshold], dtype=np.uint64))[0])


@dataclass(frozen=True, slots=True)
class _Integer(_Decision):
    method: ClassVar[str] = "integers"

    size: int

    @property
    def outcomes(self) -> int:
        return self.size

    def chance(self, outcome: int) -> tuple[int, int]:  # noqa: ARG002
        return 1, self.size

    def words(self, outcome: int) -> list[int]:
        beyond = RESOLUTION - RESOLUTION % self.size
        again = [beyond] if beyond < RESOLUTION else []
        return [*again, beyond - self.size + outcome]

    def made(self, words: GivenWords) -> int:
        return int(self.code(words, np.array([self.size]))[0])


@dataclass(frozen=True, slots=True)
class _Shift(_Decision):
    method: ClassVar[str] = "shifts"

    kept: int
    others: int

    @property
    def outcomes(self) -> int:
        return (self.kept > 0) + self.others * (self.kept < RESOLUTION)

    def chance(self, outcome: int) -> tuple[int, int]:
        if self._shift(outcome):
            return RESOLUTION - self.kept, RESOLUTION * self.others
        return self.kept, RESOLUTION

    def words(self, outcome: int) -> list[int]:
        return [self.kept + self._shift(outcome) * (RESOLUTION - self.kept) // self.others - 1]

    def made(self, words: GivenWords) -> int:
        return int(self.code(words, np.array([self.kept]), np.array([self.others]))[0])

    def _shift(self, outcome: int) -> int:
        return outcome if self.kept else outcome + 1


@dataclass(frozen=True, slots=True)
class _Choice(_Decision):
    """A decision for one of the outcomes that are possible."""

    method: ClassVar[str] = "outcomes"

    ends: tuple[int, ...]

    @property
    def outcomes(self) -> int:
        return len(self._possible)

    def chance(self, outcome: int) -> tuple[int, int]:
        begin, end = self._possible[outcome]
        return end - begin, RESOLUTION

    def words(self, outcome: int) -> list[int]:
        begin, end = self._possible[outcome]
        return [begin if outcome else end - 1]

    def made(self, words: GivenWords) -> int:
        return int(self.code(words, np.array([self.ends]))[0])

    @property
    def _possible(self) -> list[tuple[int, int]]:
        return [(begin, end) for begin, end in itertools.pairwise((0, *self.ends)) if begin < end]


@dataclass(frozen=True, slots=True)
class _Subset(_Decision):
    """A decision for one of the subsets, whose members are the set bits of a number."""

    method: ClassVar[str] = "subsets"

    size: int
    most: int

    @property
    def outcomes(self) -> int:
        return math.comb(self.size, min(self.size, self.most))

    def chance(self, outcome: int) -> tuple[int, int]:  # noqa: ARG002
        return 1, self.outcomes

    def words(self, outcome: int) -> list[int]:
        if self.size <= self.most:
            return []
        chosen = _combinations(self.size, self.most)[outcome]
        # Members with equal words draw again; then those that are chosen have the smallest.
        order = [*reversed(chosen), *(place for place in range(self.size) if place not in chosen)]
        return [*[0] * self.size, *(order.index(place) for place in range(self.size))]

    def made(self, words: GivenWords) -> int:
        members = self.code(words, np.array([self.size]), self.most).tolist()
        return sum(member << place for place, member in enumerate(members))


@dataclass(frozen=True, slots=True)
class _Holding(_Decision):
    """A decision for one of the sets of so many members, as a number with a bit for each."""

    method: ClassVar[str] = "holding"

    own: int
    size: int
    members: int
    kept: int

    @property
    def outcomes(self) -> int:
        return math.comb(self.size, self.members)

    def chance(self, outcome: int) -> tuple[int, int]:
        if self.own in self._chosen(outcome):
            return self.kept, RESOLUTION * math.comb(self.size - 1, self.members - 1)
        return RESOLUTION - self.kept, RESOLUTION * math.comb(self.size - 1, self.members)

    def words(self, outcome: int) -> list[int]:
        # The last word with which a set holds the own number, at its end, or the first with which it ends before it.
        chosen = [each for each in self._chosen(outcome) if each != self.own]
        others = [each for each in range(self.size) if each not in (*chosen, self.own)]
        order = [*chosen, self.own, *others]
        return [*(order.index(place) for place in range(self.size)), self.kept - (len(chosen) < self.members)]

    def made(self, words: GivenWords) -> int:
        sizes, members, kept = (np.array([each]) for each in (self.size, self.members, self.kept))
        return int(self.code(words, np.array([[self.own]]), sizes=sizes, members=members, kept=kept)[0, 0])

    def _chosen(self, outcome: int) -> tuple[int, ...]:
        return _combinations(self.size, self.members)[outcome]


@lru_cache(maxsize=2**16)
def _made(decision: _Decision, outcome: int, code: Callable[..., Any]) -> tuple[list[int], int]:  # noqa: ARG001
    """Return the words at the edge of an outcome, and what the shipped code makes of them.

    code: the decision's own, an argument so that nothing that other code made is remembered.
    """
    words = decision.words(outcome)
    return words, decision.made(GivenWords(np.array(words, dtype=np.uint32)))


@lru_cache
def _combinations(size: int, most: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(size), most))
