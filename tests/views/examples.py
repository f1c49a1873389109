"""A collection of views of four attributes that depend on each other, its users, and what is estimated of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy, random_words
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.questions.questions import QuestionSet, Table
from stream_ldp.records.answer import Estimate
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.series import ViewEstimateSpec
from stream_ldp.views.solve import solve

TEXT = """
collection: care
mechanism: {{kind: sampled, {mechanism}}}
attributes:
  - {{name: walks, values: [no, yes]}}
  - {{name: bathes, values: [no, yes]}}
  - {{name: diet, values: [meat, fish, plants]}}
  - {{name: region, values: [north, south]}}
estimates: {estimates}
window: {{size: 10s, grace: 1s{window}}}
"""
SIZES = (2, 2, 3, 2)


def collection_of(
    mechanism: str = "epsilon: 4, ask: pairs",
    *,
    estimates: str = "[{name: care, of: [walks, bathes]}]",
    window: str = "",
) -> ViewsCollection:
    return ViewsCollection.parse(TEXT.format(mechanism=mechanism, estimates=estimates, window=window))


def users(count: int, seed: int = 1) -> Table:
    """Who walks mostly bathes, and has a diet by whether he does; the region depends on nothing."""
    rng = np.random.default_rng(seed)
    table = np.empty(count, dtype=[(str(place), "<i8") for place in range(4)])
    table["0"] = rng.random(count) < 0.4
    table["1"] = np.where(rng.random(count) < 0.8, table["0"], 1 - table["0"])
    table["2"] = np.where(table["1"] == 1, rng.choice(3, count, p=[0.2, 0.3, 0.5]), rng.choice(3, count))
    table["3"] = rng.random(count) < 0.3
    return table


def joint_of(table: Table, of: tuple[int, ...]) -> NDArray[np.float64]:
    shape = tuple(SIZES[place] for place in of)
    cells = np.ravel_multi_index(tuple(table[str(place)] for place in of), shape)
    return (np.bincount(cells, minlength=int(np.prod(shape))) / len(table)).reshape(shape)


def sums_of(questions: QuestionSet[Any], table: Table, seed: int = 2) -> NDArray[np.int64]:
    entropy = SeededEntropy(seed)
    numbers = questions.numbers(random_words(len(table), entropy=entropy))
    return questions.sums(questions.perturb(numbers, table, entropy=entropy))


def solved(
    collection: ViewsCollection, series: ViewEstimateSpec, values: NDArray[np.int64], *, window_ms: int = 20_000
) -> Estimate:
    """The final estimate of a series from the sums of a window."""
    return solve(collection, task_of(collection, series, values, window_ms=window_ms))


def task_of(
    collection: ViewsCollection, series: ViewEstimateSpec, values: NDArray[np.int64], *, window_ms: int = 20_000
) -> WindowTask[ViewEstimateSpec, Estimate]:
    """The question about the sums of a window."""
    reports = int(collection.questions.draws(values).sum())
    return WindowTask(
        series=series,
        window_ms=window_ms,
        final=True,
        windows=((1.0, (ReportSums.of(reports=reports, values=values),)),),
        before=None,
    )


def estimated(collection: ViewsCollection, count: int = 20_000, *, name: str = "care") -> Estimate:
    """The estimate of this name from the answers of so many users."""
    series = next(each for each in collection.series if each.name == name)
    return solved(collection, series, sums_of(collection.questions, users(count)))


#: Views of two numbers and a list, of which users tell each alone and all pairs.
NUMBERS = """
collection: work
mechanism: {{kind: sampled, {mechanism}}}
attributes:
  - {{name: age, range: [16, 90]}}
  - {{name: hours, range: [0, 100]}}
  - {{name: sex, values: [f, m]}}
estimates: [{{name: both, of: [hours, age]}}, {{name: all, of: [age, sex, hours]}}]
window: {{size: 10s, grace: 1s}}
"""


def numbers_of(mechanism: str = "epsilon: 2, ask: attributes 0.5 + pairs") -> ViewsCollection:
    return ViewsCollection.parse(NUMBERS.format(mechanism=mechanism))


def workers(count: int, seed: int = 1) -> Table:
    """Who is older works longer, and is more often m."""
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], count)
    table = np.empty(count, dtype=[("0", "<f8"), ("1", "<f8"), ("2", "<i8")])
    table["0"], table["1"] = np.clip([[53], [45]] + np.array([[12], [14]]) * drawn.T, [[16], [0]], [[90], [100]])
    table["2"] = rng.random(count) < 1 / (1 + np.exp(-drawn[:, 0]))
    return table


def of_workers(count: int = 4_000) -> Estimate:
    """The estimate of both numbers and the list from the answers of so many workers."""
    collection = numbers_of()
    return solved(collection, collection.series[1], sums_of(collection.questions, workers(count)))
