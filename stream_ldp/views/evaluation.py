"""Evaluation of designs of views on a known population that answers with noise, again and again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import MECHANISMS, SeededEntropy, random_words
from stream_ldp.mechanisms.randomness.repeats import each_repeat
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import QuestionSet
from stream_ldp.records.estimators import estimator
from stream_ldp.records.evaluation import average_variation_distance, joint_of
from stream_ldp.records.solve import supported
from stream_ldp.views.errors import standard_error
from stream_ldp.views.expected import expected_avd, k_rr_information, rr_information
from stream_ldp.views.fitting import Fit
from stream_ldp.views.question import ViewQuestion
from stream_ldp.views.tables import view_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.records.estimators import Solution, Stop
    from stream_ldp.views.design import Design
    from stream_ldp.views.tables import ViewTable

    #: Estimates the joint distribution of attributes at ascending positions.
    Joints = Callable[[tuple[int, ...]], "Estimated"]
    Sets = list[tuple[int, ...]]

__all__ = [
    "INFORMATION",
    "Candidate",
    "PerturbedRecords",
    "Score",
    "Trial",
    "Views",
    "drawn_sets",
    "scores",
    "trials",
]

#: Users whose answers are made at once: a subset of the largest view then takes 8 MiB.
_USERS_AT_ONCE = 2**14
#: Most sets of attributes that are counted before some are drawn, and draws for each set that is wanted.
_ENUMERATED, _DRAWS = 20_000, 1_000
#: By the mechanism for records: the function that returns what a report tells of each attribute and pair.
INFORMATION: dict[str, Callable[..., dict[tuple[int, ...], float]]] = {
    "rr-ldp": rr_information,
    "k-rr": k_rr_information,
}
#: Standard errors within which 95 % of normal errors are.
_QUANTILE = 1.96


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """An estimated joint distribution.

    errors: computes its standard errors, of its shape.
    """

    probability: NDArray[np.float64]
    errors: Callable[[], NDArray[np.float64]]


class Candidate(ABC):
    """What users tell, and how joint distributions are estimated from it.

    name: the name by which it is asked for.
    epsilon: of all reports of a user for ever, for any two records, in nats.
    """

    name: str
    epsilon: float

    @abstractmethod
    def collected(self, people: NDArray[np.int64], *, entropy: Entropy) -> Joints:
        """Let users report, and return what estimates joint distributions from their reports.

        people: value indices, shape (n, attributes).
        """

    @abstractmethod
    def expected_avd(self, users: int, sets: Sequence[tuple[int, ...]]) -> float:
        """Return the mean AVD to expect of the joint distributions of these sets."""


@dataclass(frozen=True, kw_only=True)
class Views(Candidate):
    """Users who each tell one view."""

    name: str
    epsilon: float
    design: Design

    @cached_property
    def _questions(self) -> QuestionSet[ViewQuestion]:
        attributes = [
            AskedAttribute(name=str(place), values=tuple(map(str, range(size))))
            for place, size in enumerate(self.design.sizes)
        ]
        return QuestionSet(
            questions=tuple(
                ViewQuestion(
                    of=view,
                    attributes=tuple(attributes[place] for place in view),
                    randomizer=self.design.oracle_of(view),
                    weight=weight,
                )
                for view, weight in zip(self.design.views, self.design.weights, strict=True)
            )
        )

    def collected(self, people: NDArray[np.int64], *, entropy: Entropy) -> Joints:
        """See `Candidate.collected`."""
        tables = self.tables(people, entropy=entropy)
        fit = Fit(tables, sizes=self.design.sizes)

        def joint(of: tuple[int, ...]) -> Estimated:
            probability = fit.joint(of).probability
            return Estimated(probability=probability, errors=lambda: standard_error(fit, tables, probability, of=of))

        return joint

    def tables(self, people: NDArray[np.int64], *, entropy: Entropy) -> list[ViewTable]:
        """Let users tell their views, and return what their answers show.

        people: value indices, shape (n, attributes).
        """
        questions = self._questions
        sums = np.zeros(questions.counters, dtype=np.int64)
        table = np.empty(len(people), dtype=[(str(place), "<i8") for place in range(people.shape[1])])
        for place, column in enumerate(people.T):
            table[str(place)] = column
        for first in range(0, len(table), _USERS_AT_ONCE):
            part = table[first : first + _USERS_AT_ONCE]
            numbers = questions.numbers(random_words(len(part), entropy=entropy))
            sums += questions.sums(questions.perturb(numbers, part, entropy=entropy))
        return view_tables(questions, [(1.0, sums)])

    def expected_avd(self, users: int, sets: Sequence[tuple[int, ...]]) -> float:
        """See `Candidate.expected_avd`."""
        return self.design.expected_avd(users, sets=sets)


@dataclass(frozen=True, kw_only=True)
class PerturbedRecords(Candidate):
    """Users who tell all attributes, each with its part of the epsilon, once and for ever.

    kind: of the mechanism that perturbs the attributes, a key of `INFORMATION`.
    stop: form of the estimator LREMH, see `stream_ldp.records.estimators.estimator`.
    """

    name: str
    epsilon: float
    sizes: tuple[int, ...]
    stop: Stop
    kind: str = "rr-ldp"

    def collected(self, people: NDArray[np.int64], *, entropy: Entropy) -> Joints:
        """See `Candidate.collected`."""
        solution = self.solutions(people, entropy=entropy)

        def joint(of: tuple[int, ...]) -> Estimated:
            solved = solution(of)
            return Estimated(probability=solved.joint, errors=lambda: solved.standard_error)

        return joint

    def solutions(self, people: NDArray[np.int64], *, entropy: Entropy) -> Callable[[tuple[int, ...]], Solution]:
        """Let users report, and return what solves for the joint distribution of attributes at ascending positions.

        people: value indices, shape (n, attributes).
        """
        spec = MECHANISMS[self.kind].for_budget(sizes=self.sizes, for_ever=self.epsilon, per_report=None)
        mechanism = spec.of(sizes=self.sizes)
        reports = np.unpackbits(
            mechanism.perturb(people, entropy=entropy), axis=1, count=mechanism.bits, bitorder="little"
        )
        solver = estimator("lremh", stop=self.stop, delta=0.001)

        def solution(of: tuple[int, ...]) -> Solution:
            columns = list(mechanism.columns(of))
            rows = np.packbits(reports[:, columns], axis=1, bitorder="little")
            counts = supported(RowCounts.of(rows, bits=len(columns)), mechanism, of)
            sizes = tuple(self.sizes[place] for place in of)
            supports = [mechanism.supports[place] for place in of]
            return solver.estimate(counts, sizes=sizes, supports=supports)

        return solution

    def expected_avd(self, users: int, sets: Sequence[tuple[int, ...]]) -> float:
        """See `Candidate.expected_avd`."""
        information = INFORMATION[self.kind](self.sizes, epsilon=self.epsilon)
        return expected_avd(self.sizes, information, users=users, sets=sets)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """The estimates of one repeat of all sets of as many attributes.

    avd: mean average variation distance to the joint distributions of the repeat's own users.
    seconds: time that these estimates took, without reports and their counts.
    coverage: mean share of cells that are within 1.96 standard errors; None if it was not asked for.
    """

    candidate: Candidate
    ways: int
    avd: float
    seconds: float
    coverage: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The means over all repeats of a design.

    views: the name of the design that was chosen, or of the mechanism.
    ways: number of attributes of each joint distribution.
    avd, avd_expected: mean average variation distance, measured and by the formula.
    seconds: time to estimate all sets of so many attributes.
    coverage: mean share of cells that are within 1.96 standard errors; None if it was not asked for.
    """

    design: str
    chosen: str
    epsilon: float
    ways: int
    avd: float
    avd_expected: float
    seconds: float
    coverage: float | None


def drawn_sets(sizes: Sequence[int], *, ways: int, sets: int, most_cells: int, seed: int) -> Sets:
    """Draw sets of so many attributes whose joint distributions have at most so many cells; all if there are fewer.

    Returns:
        Ascending positions, in their order; empty if no set has so few cells.
    """
    generator = np.random.default_rng(seed)
    small = math.comb(len(sizes), ways) <= _ENUMERATED
    if small and sum(math.prod(sizes[place] for place in of) <= most_cells for of in _all(sizes, ways)) <= sets:
        return [of for of in _all(sizes, ways) if math.prod(sizes[place] for place in of) <= most_cells]
    found: set[tuple[int, ...]] = set()
    for _ in range(_DRAWS * sets):
        if len(found) == sets:
            break
        of = tuple(sorted(generator.choice(len(sizes), ways, replace=False).tolist()))
        if math.prod(sizes[place] for place in of) <= most_cells:
            found.add(of)
    return sorted(found)


def _all(sizes: Sequence[int], ways: int) -> Iterator[tuple[int, ...]]:
    return combinations(range(len(sizes)), ways)


def trials(
    population: NDArray[np.int64],
    sizes: Sequence[int],
    *,
    candidates: Sequence[Candidate],
    sets: dict[int, Sets],
    users: int,
    repeats: int,
    seed: int,
    clock: Callable[[], float],
    coverage: bool = False,
) -> Iterator[Trial]:
    """Run every candidate on every repeat.

    Each repeat draws users and noise of its own, the same for all candidates; the seed determines both.

    population: value indices, shape (rows, attributes), each below its attribute's size.
    sets: by their number of attributes, the ascending positions of what is estimated together.
    users: number of users in a repeat, drawn with replacement only if there are fewer rows.
    clock: returns seconds, from any origin.
    coverage: compare the standard errors, too.
    """
    for drawn, noise in each_repeat(repeats, rows=len(population), users=users, seed=seed):
        people = population[drawn]
        truth = {
            of: joint_of(people[:, of], tuple(sizes[place] for place in of)) for each in sets.values() for of in each
        }
        for candidate in candidates:
            joint = candidate.collected(people, entropy=SeededEntropy(noise))
            for ways, wanted in sets.items():
                begun = clock()
                found = [joint(of) for of in wanted]
                seconds = clock() - begun
                pairs = [(each, truth[of]) for each, of in zip(found, wanted, strict=True)]
                yield Trial(
                    candidate=candidate,
                    ways=ways,
                    avd=float(np.mean([average_variation_distance(each.probability, true) for each, true in pairs])),
                    seconds=seconds,
                    coverage=float(np.mean([_covered(each, true) for each, true in pairs])) if coverage else None,
                )


def _covered(estimated: Estimated, truth: NDArray[np.float64]) -> float:
    within = np.abs(estimated.probability - truth) <= _QUANTILE * estimated.errors()
    return float(within.mean())


def scores(outcomes: Iterable[Trial], *, sets: dict[int, Sets], users: int) -> list[Score]:
    """Make one score for each candidate and number of attributes, in the order in which they first appear."""
    grouped: dict[tuple[int, int], list[Trial]] = {}
    for each in outcomes:
        grouped.setdefault((id(each.candidate), each.ways), []).append(each)
    return [
        Score(
            design=candidate.name,
            chosen=candidate.design.name if isinstance(candidate, Views) else candidate.name,
            epsilon=candidate.epsilon,
            ways=ways,
            avd=float(np.mean([each.avd for each in repeats])),
            avd_expected=candidate.expected_avd(users, sets[ways]),
            seconds=float(np.mean([each.seconds for each in repeats])),
            coverage=_mean([each.coverage for each in repeats if each.coverage is not None]),
        )
        for (_, ways), repeats in grouped.items()
        for candidate in [repeats[0].candidate]
    ]


def _mean(numbers: Sequence[float]) -> float | None:
    return float(np.mean(numbers)) if numbers else None
