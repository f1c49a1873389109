"""Evaluation of methods on a known population of strings that answers with noise, again and again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.mechanisms.randomness.repeats import each_repeat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.strings.method import StringMethod

__all__ = ["Candidate", "Score", "Trial", "scores", "trials"]

#: Bits of the reports that are made at once: with a byte for each, 16 MiB.
_BITS_AT_ONCE = 2**24


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A method to be evaluated.

    epsilon: what it is asked for with, in nats.
    """

    method: StringMethod
    epsilon: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One ranking of one repeat, compared with the truth of the repeat's own users.

    found: strings that are among the k truly most frequent ones.
    told: strings.
    false: strings that are not among the k truly most frequent ones.
    nobodys: strings that nobody has.
    expected: largest number of such strings that the ranking itself says to expect.
    covered: share of the strings told whose true frequency is within two standard errors; 1 if there are none.
    seconds: time to perturb and solve.
    """

    found: float
    told: float
    false: float
    nobodys: float
    expected: float
    covered: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The means over all repeats of a candidate, see `Trial`."""

    method: str
    epsilon: float
    found: float
    told: float
    false: float
    nobodys: float
    expected: float
    covered: float
    seconds: float


def trials(
    population: NDArray[np.integer],
    *,
    candidates: Sequence[Candidate],
    k: int,
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[tuple[Candidate, Trial]]:
    """Run every candidate on every repeat.

    Each repeat draws users and noise of its own; the seed determines both.

    population: symbols of the strings, shape (n, length).
    k: number of strings wanted.
    users: number of users in a repeat, drawn with replacement only if there are fewer strings.
    clock: returns seconds, from any origin.
    """
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population[drawn]
        for candidate in candidates:
            yield candidate, _trial(candidate.method, people, k=k, seed=noise, clock=clock)


def scores(outcomes: Iterable[tuple[Candidate, Trial]]) -> list[Score]:
    """Make one score for each candidate, in the order in which they first appear."""
    by_candidate: dict[tuple[str, float], list[Trial]] = {}
    for candidate, each in outcomes:
        by_candidate.setdefault((candidate.method.name, candidate.epsilon), []).append(each)
    return [
        Score(
            method=method,
            epsilon=epsilon,
            **{each.name: float(np.mean([getattr(trial, each.name) for trial in repeats])) for each in fields(Trial)},
        )
        for (method, epsilon), repeats in by_candidate.items()
    ]


def _trial(
    method: StringMethod,
    people: NDArray[np.integer],
    *,
    k: int,
    seed: np.random.SeedSequence,
    clock: Callable[[], float],
) -> Trial:
    entropy, questions = SeededEntropy(seed), method.questions
    begun = clock()
    rows = []
    step = max(1, _BITS_AT_ONCE // questions.bits)
    for first in range(0, len(people), step):
        part = people[first : first + step]
        numbers = questions.numbers(random_words(len(part), entropy=entropy))
        seeds = random_words(len(part), entropy=entropy)
        rows.append(questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, part), entropy=entropy))
    found = method.find([(1.0, questions.answers(np.concatenate(rows)))], k=k)
    seconds = clock() - begun
    strings, counts = np.unique(people, axis=0, return_counts=True)
    frequency = dict(zip(map(tuple, strings.tolist()), (counts / len(people)).tolist(), strict=True))
    top = sorted(frequency, key=lambda each: (-frequency[each], each))[:k]
    told = [] if found is None else list(map(tuple, found.symbols.tolist()))
    hits = len(set(told) & set(top))
    truth = np.array([frequency.get(each, 0.0) for each in told])
    covered, expected = 1.0, 0.0
    if found is not None and told:
        covered = float((np.abs(found.frequency - truth) <= 2 * found.standard_error).mean())
        expected = float(found.expected_false.max())
    return Trial(
        found=hits,
        told=len(told),
        false=len(told) - hits,
        nobodys=int((truth == 0).sum()),
        expected=expected,
        covered=covered,
        seconds=seconds,
    )
