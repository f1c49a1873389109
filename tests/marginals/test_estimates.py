"""Estimates as parts of an answer, and their errors beside a truth."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.marginals.estimates import FrequencyEstimate, NumberEstimate, OutputEstimate
from stream_ldp.questions.attributes import AskedAttribute


def test_candidates_that_do_not_stand_out_are_dropped_from_the_answer() -> None:
    estimate = FrequencyEstimate(
        raw=np.array([0.7, 0.0]),
        standard_error=np.array([0.1, 0.0]),
        projected=np.array([0.7, 0.0]),
        kept=np.array([True, False]),
        others=0.3,
    )
    part = estimate.message(AskedAttribute(name="diet", candidates=("fish", "meat")))
    assert (part.values, part.raw, part.dropped, part.others) == (("fish",), (0.7,), ("meat",), 0.3)
    assert estimate.errors(np.array([0.5, 0.2])) == pytest.approx((0.04, 0.2))


def test_a_mean_is_published_in_units_of_its_attribute() -> None:
    estimate = NumberEstimate(raw=1.2, standard_error=0.5, fit=lambda: None)
    part = estimate.message(AskedAttribute(name="age", range=(0, 100)))
    assert (part.mean.raw, part.mean.standard_error, part.mean.projected) == pytest.approx((110, 25, 100))
    assert estimate.errors(np.array([0.7])) == pytest.approx((0.25, 0.3))


def test_outputs_say_nothing_of_a_truth() -> None:
    estimate = OutputEstimate(rank=1, shares=np.array([0.5, 0.5]), standard_error=np.array([0.1, 0.1]))
    assert estimate.message(AskedAttribute(name="level", values=("a", "b", "c"))).rank == 1
    with pytest.raises(ParameterError, match="do not follow from outputs of rank 1"):
        estimate.errors(np.zeros(3))
