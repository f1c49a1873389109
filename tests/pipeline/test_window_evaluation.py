"""Windows of collections of any kind, played and compared with what is true of their users."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.trial import Measured, Trial
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.pipeline.window_evaluation import measure_windows

WINDOW = "window: {size: 10s, returning: 0}"
DIETS = f"""
collection: diets
mechanism: {{kind: sampled, epsilon: 4}}
attributes: [{{name: diet, values: [meat, fish, plants]}}, {{name: age, range: [0, 100]}}]
{WINDOW}
"""


def measured(
    text: str, population: NDArray[np.void], *, spans: list[NDArray[np.int64]] | None = None, returning: float = 0.0
) -> dict[str, float]:
    """Return the metrics of the only series."""
    collection = parse_collection(text)

    def found() -> Iterator[Measured]:
        yield from measure_windows(
            Trial(
                collection=collection,
                people=population[:400],
                population=population,
                apart=None,
                sampling=np.random.SeedSequence(1),
                noise=np.random.SeedSequence(2),
                drawing=0,
                clock=time.perf_counter,
            ),
            kind=kind_of(collection),
            windows=8,
            returning=returning,
            spans=spans,
        )

    ((series, metrics, _),) = found()
    assert series == collection.series[0].name
    return {name: float(value) for name, value in metrics.items()}


def people(count: int = 800) -> NDArray[np.void]:
    """The first half eats meat, the second plants; all are as old as their place says."""
    table = np.empty(count, dtype=[("0", "<i8"), ("1", "<f8")])
    table["0"], table["1"] = np.arange(count) * 2 // count * 2, np.arange(count) % 100
    return table


def test_published_numbers_are_near_the_truth_of_their_windows() -> None:
    """Seeded. Answers learn from previous windows, which are of the same population."""
    found = measured(DIETS, people())
    assert found["rmse"] < 0.05
    assert found["before_rmse"] < 0.05
    assert found["learnt_rmse"] < 0.8 * found["rmse"]
    assert found["coverage"] > 0.8


def test_windows_of_a_time_have_the_users_of_that_time() -> None:
    """Two populations alternate: the previous final is wrong by all, and one period before it is right."""
    spans = [np.arange(400) + 400 * (number % 2) for number in range(8)]
    last, period = (
        measured(text, people(), spans=spans)
        for text in (DIETS, DIETS.replace("returning: 0", "returning: 0, period: 20s"))
    )
    assert last["before_rmse"] > 0.5
    assert period["before_rmse"] < 0.1
    assert max(last["rmse"], period["rmse"]) < 0.1


def test_users_who_take_turns_come_again_with_their_permanent_noise() -> None:
    found = measured(DIETS.replace(WINDOW, "window: {size: 10s}\nrotate: 4"), people())
    assert found["coverage"] > 0.6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DIETS.replace(WINDOW, "window: {size: 10s, hop: 5s}"), "leave out sample, hop and memory"),
        (
            "collection: films\nmechanism: {kind: gfim, epsilon: 2, k: 3}\nitems: {size: 9}\nwindow: {size: 60s}\n",
            "windows of sets are not compared",
        ),
    ],
)
def test_windows_that_are_not_each_of_users_of_their_own_are_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        measured(text, people())
