"""The truth of a simulation: which window's an estimate is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.simulation.truth import Tally, Truth
from stream_ldp.pipeline.answer import WindowBounds
from tests.client.examples import MINUTE_MS, collection_of, estimate_of


def truth_of_two_windows(path: Path) -> Truth:
    values = np.array([[0, 0], [1, 2], [1, 2]])
    tally = Tally(collection_of(), values)
    tally.add(values[:1], time_ms=0)
    tally.add(values[1:2], time_ms=MINUTE_MS - 1)
    tally.add(values[1:], time_ms=MINUTE_MS)
    tally.truth().save(path)
    return Truth.load(path)


def test_an_estimate_is_compared_with_its_own_window_or_else_with_the_population(tmp_path: Path) -> None:
    truth = truth_of_two_windows(tmp_path / "truth.json")
    expected: list[list[list[float]]] = [
        [[0.5, 0, 0], [0, 0, 0.5]],
        [[0, 0, 0], [0, 0, 1]],
        [[1 / 3, 0, 0], [0, 0, 2 / 3]],
    ]
    for minute, joint in enumerate(expected):
        window = WindowBounds(start_ms=minute * MINUTE_MS, end_ms=(minute + 1) * MINUTE_MS)
        found = truth.of(estimate_of(window=window))
        assert found is not None
        assert np.allclose(found, joint)


@pytest.mark.parametrize("changes", [{"fingerprint": "0" * 32}, {"estimate": "other"}])
def test_an_estimate_of_something_else_has_no_truth(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert truth_of_two_windows(tmp_path / "truth.json").of(estimate_of(**changes)) is None
