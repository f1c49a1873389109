"""Answers are drawn with their intervals, and no line leads across a gap."""

import math
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.client.answers import Answers
from stream_ldp.client.figure import MAX_CELLS
from stream_ldp.errors import ParameterError
from tests.client.examples import of_minute
from tests.client.rankings import result_of


def test_one_window_is_drawn_as_bars_with_their_intervals() -> None:
    (axes,) = Answers((of_minute(1),)).plot(of="mobility").axes
    assert [round(bar.get_width(), 9) for bar in axes.patches] == [0.55, 0.35, 0.1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["full", "some", "none"]


def test_several_windows_are_drawn_as_lines_that_break_where_one_is_missing() -> None:
    (axes,) = Answers(tuple(of_minute(minute) for minute in (1, 2, 3, 7))).plot().axes
    assert len(axes.lines) == min(6, MAX_CELLS)
    assert [math.isnan(value) for value in axes.lines[0].get_ydata()] == [False, False, False, True, False]
    low, high = of_minute(1).interval()
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert np.nanmax(band) == pytest.approx(high.max())
    assert low.min() >= 0


def test_any_kind_can_be_drawn_and_saved(tmp_path: Path) -> None:
    Answers((result_of(7),)).plot().savefig(tmp_path / "films.svg")
    assert "<svg" in (tmp_path / "films.svg").read_text()


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ParameterError, match="no answer to draw"):
        Answers(()).plot()
