"""The experiment of all evaluations: draw users, let them report, solve and compare, again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.trial import Measure, Measured, Trial, of_rows
from stream_ldp.evaluation.users_needed import Distance, Needed, users_needed

#: The metric by which mechanisms are compared: how far a distribution is from the truth.
DISTANCE = "avd"

#: Share of the records on which classifiers are tested that learn from synthetic ones; no user has one of these.
APART = 0.2


class Repeat(NamedTuple):
    """One repeat of an evaluation on a known population.

    users: rows of the population, int64, shape (users,).
    others: rows from which they are drawn, int64.
    apart: the remaining rows, int64.
    sampling, noise: seeds of the choice of users, and of their noise.
    drawing: a seed of what is drawn from answers.
    """

    users: NDArray[np.int64]
    others: NDArray[np.int64]
    apart: NDArray[np.int64]
    sampling: np.random.SeedSequence
    noise: np.random.SeedSequence
    drawing: int


class Score(NamedTuple):
    """The metrics of one series over some repeats.

    metrics: the mean of each metric, followed by its standard deviation over the repeats (n - 1; 0 for a single one)
        as NAME_sd, except for an epsilon; of a word, the most frequent one. Of a metric that begins with rmse, the
        root of the mean square.
    seconds: mean.
    """

    repeats: int
    metrics: dict[str, float | str]
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Experiment:
    """Users of a known population who report to a collection.

    population: all users, in the form in which the collection encodes them.
    users: number of users in each repeat, drawn with replacement only if there are fewer.
    apart: share of the population that is kept apart, see `each_repeat`.
    group: the name under which a series is scored, with others of that name.
    clock: returns seconds, from any origin.
    """

    collection: Any
    population: Any
    users: int
    measure: Measure
    clock: Callable[[], float]
    taken: Callable[[Any, NDArray[np.int64]], Any] = of_rows
    apart: float = 0.0
    group: Callable[[str], str] = field(default=str)

    def repeats(self, count: int, *, seed: int, users: int | None = None) -> Iterator[list[Measured]]:
        """Yield the measures of one repeat after another; the seed determines all but the seconds.

        Each repeat draws users and noise of its own, the same for all collections.

        Raises:
            ParameterError: the population has nobody, or nobody beside those kept apart.
        """
        for each in each_repeat(
            count, rows=len(self.population), users=users or self.users, seed=seed, apart=self.apart
        ):
            trial = Trial(
                collection=self.collection,
                people=self.taken(self.population, each.users),
                population=self.taken(self.population, each.others) if self.apart else self.population,
                apart=self.taken(self.population, each.apart),
                sampling=each.sampling,
                noise=each.noise,
                drawing=each.drawing,
                clock=self.clock,
            )
            yield [found._replace(series=self.group(found.series)) for found in self.measure(trial)]

    def users_needed(
        self, series: str, metric: str, *, best: float, wanted: float, repeats: int, seed: int
    ) -> Needed | None:
        """Find the number of users with which the mean metric of a series is as wanted; None beyond MAX_USERS.

        best: its value where nothing is missed.
        """

        def distance(users: int, count: int, step: int) -> Distance:
            found = scores(self.repeats(count, seed=seed + step, users=users))[series].metrics
            return Distance(abs(best - float(found[metric])), float(found[f"{metric}_sd"]))

        return users_needed(abs(best - wanted), users=self.users, repeats=repeats, measure=distance)


def scores(repeats: Iterable[Sequence[Measured]]) -> dict[str, Score]:
    """Score each series, in the order in which they first appear.

    repeats: the measures of each; those of one series are averaged first, and their seconds added up.
    """
    by_series: dict[str, list[list[Measured]]] = {}
    for repeat in repeats:
        together: dict[str, list[Measured]] = {}
        for each in repeat:
            together.setdefault(each.series, []).append(each)
        for series, found in together.items():
            by_series.setdefault(series, []).append(found)
    return {series: _score(found) for series, found in by_series.items()}


def _score(repeats: Sequence[Sequence[Measured]]) -> Score:
    metrics: dict[str, float | str] = {}
    for name in dict.fromkeys(name for repeat in repeats for each in repeat for name in each.metrics):
        values = [[each.metrics[name] for each in repeat if name in each.metrics] for repeat in repeats]
        words = [value for of_repeat in values for value in of_repeat if isinstance(value, str)]
        if words:
            metrics[name] = Counter(words).most_common(1)[0][0]
            continue
        numbers = np.array([_mean(name, of_repeat) for of_repeat in values if of_repeat])
        metrics[name] = _mean(name, numbers)
        if not name.startswith("epsilon"):
            metrics[f"{name}_sd"] = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0
    seconds = float(np.mean([sum(each.seconds for each in repeat) for repeat in repeats]))
    return Score(len(repeats), metrics, seconds)


def _mean(name: str, numbers: Any) -> float:
    if name.startswith("rmse"):
        return float(np.sqrt(np.mean(np.square(numbers))))
    return float(np.mean(numbers))


def each_repeat(repeats: int, *, rows: int, users: int, seed: int, apart: float = 0.0) -> Iterator[Repeat]:
    """Draw the users of each repeat, with replacement only if the population has fewer rows; the seed determines all.

    rows: size of the population.
    apart: share of the rows, other ones in each repeat, from which nobody is drawn; if it is not 0, one row at least.

    Raises:
        ParameterError: there is nobody in the population, or nobody beside those apart.
    """
    if not rows:
        raise ParameterError("the population to evaluate on has no rows")
    kept = max(1, round(apart * rows)) if apart else 0
    if kept == rows:
        raise ParameterError("answers are compared with users who are kept apart: give a table of 2 rows or more")
    for repeat in np.random.SeedSequence(seed).spawn(repeats):
        sampling, noise, drawing = repeat.spawn(3)
        generator = np.random.default_rng(sampling)
        order = generator.permutation(rows) if kept else np.arange(rows)
        others = order[kept:]
        yield Repeat(
            users=others[generator.choice(len(others), users, replace=users > len(others))],
            others=others,
            apart=order[:kept],
            sampling=sampling,
            noise=noise,
            drawing=int(drawing.generate_state(1)[0]),
        )
