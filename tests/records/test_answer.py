"""Tests of the message of an estimates topic, on which consumers in any language rely."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.records.answer import Estimate
from tests.client.examples import estimate_of

probabilities = st.floats(0, 1)


def message(**changes: Any) -> bytes:
    """Make a message as JSON with some of its top-level fields replaced."""
    return json.dumps(json.loads(estimate_of().to_bytes()) | changes).encode()


@given(st.lists(probabilities, min_size=6, max_size=6), st.floats(allow_nan=False, allow_infinity=False, min_value=0))
def test_numbers_are_read_back_to_the_last_bit(cells: list[float], effective: float) -> None:
    joint = np.array(cells).reshape(2, 3)
    sent = estimate_of(probability=joint.tolist(), effective_reports=effective)
    received = Estimate.from_bytes(sent.to_bytes())
    assert received.joint().tobytes() == joint.tobytes()
    assert received.effective_reports.hex() == effective.hex()
    assert received == sent


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="an empty object"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(message(schema_version=2), id="another schema version"),
        pytest.param(message(effective_reports=float("nan")), id="not a number"),
        pytest.param(message(reports=-1), id="fewer reports than none"),
    ],
)
def test_what_is_not_an_estimate_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="Estimate"):
        Estimate.from_bytes(data)


def test_cells_that_do_not_fit_their_axes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        estimate_of(probability=[[1.0]]).joint()
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        estimate_of(standard_error=[0.0] * 6).standard_errors()


@pytest.mark.parametrize(
    "cells",
    [[["0.1"] * 3] * 2, [[None] * 3] * 2, [[True] * 3] * 2, [[10**30] * 3] * 2, [[0.1] * 3, [0.1] * 2], [{}, {}]],
)
@pytest.mark.parametrize("name", ["probability", "standard_error"])
def test_cells_that_are_no_numbers_are_refused(name: str, cells: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"finite number|inhomogeneous|shape"):
        Estimate.from_bytes(message(**{name: cells}))


def test_marginals_and_what_is_left_to_the_next_window_have_the_shape_of_the_axes() -> None:
    sent = json.loads(estimate_of().to_bytes())
    with pytest.raises(ValueError, match=r"marginals of \(2, 3\) values, there are \(2,\)"):
        Estimate.from_bytes(message(independence=sent["independence"] | {"marginals": [[0.5, 0.5]]}))
    cells = [[0.1] * 3] * 2
    left = {"mean": cells, "variances": cells, "permanent": [[0.1] * 2] * 2, "scores": cells, "evidence": []}
    temporal = {"alone": [[0.1] * 3] * 2, "users": 1.0, "drift": None, "jumped": False, "filter": left}
    with pytest.raises(ValueError, match=r"cells of shape \(2, 3\), there are \(2, 2\)"):
        Estimate.from_bytes(message(temporal=temporal))
    assert Estimate.from_bytes(message(temporal=temporal | {"filter": None})).temporal is not None


def test_the_distance_between_distributions_is_half_their_absolute_difference() -> None:
    estimate = estimate_of(probability=[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert estimate.distance(np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]])) == 0.5
    assert estimate.distance(estimate.joint()) == 0.0
