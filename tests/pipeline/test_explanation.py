"""An answer of any kind is explained in three sentences that agree with its numbers."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import Mock

import pytest

from stream_ldp.pipeline.answer import Plausibility, RegionPart, RegionState
from stream_ldp.pipeline.cells import Cell
from stream_ldp.pipeline.explanation import sentences
from stream_ldp.pipeline.judgement import Judgement, Look
from tests.client.examples import estimate_of
from tests.marginals.examples import collection_of, marginals_of
from tests.marginals.test_answer import numbers_of
from tests.pipeline.test_rows import ANSWERS


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_every_kind_is_explained_in_three_sentences(answer: Any) -> None:
    for sentence in sentences(answer):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "nan" not in sentence


def test_the_first_sentence_has_the_largest_number_and_its_interval() -> None:
    what, _, privacy = sentences(estimate_of())
    assert what == (
        "By 12,345 reports, the largest share is that of bathing no, mobility full: about 30.0 %, "
        "between 28.0 % and 32.0 %."
    )
    assert privacy.startswith("Privacy cost for a user: ")


def test_a_region_that_was_cut_off_is_named() -> None:
    parts = [
        RegionPart(region=name, state=state, reports=None)
        for name, state in (("eu", RegionState.WHOLE), ("us", RegionState.CUT_OFF))
    ]
    what, *_ = sentences(estimate_of(sources=tuple(parts)))
    assert what.startswith("By 12,345 reports (not all of us, cut off at the time), the largest share is")
    what, *_ = sentences(estimate_of(sources=tuple(parts[:1])))
    assert what.startswith("By 12,345 reports, the largest share is")


def test_numbers_of_other_units_are_not_compared() -> None:
    """A quantile of 40 years is no larger number than a share of 60 %."""
    cells = (
        Cell(
            labels={"attribute": "diet", "value": "fish"},
            estimate=0.6,
            standard_error=0.1,
            names=("fish",),
            group="diet",
        ),
        Cell(
            labels={"attribute": "diet", "value": "meat"},
            estimate=0.4,
            standard_error=0.1,
            names=("meat",),
            group="diet",
        ),
        *(
            Cell(
                labels={"attribute": name, "quantity": "mean"},
                estimate=40.0,
                standard_error=1.0,
                range=(0.0, 100.0),
                names=("mean",),
                group=name,
            )
            for name in ("age", "height", "weight")
        ),
    )
    answer = Mock(
        reports=9,
        sources=None,
        plausibility=None,
        cells=lambda: iter(cells),
        judgement=Judgement,
        look=Look(title="diets"),
    )
    assert sentences(answer)[0] == (
        "By 9 reports, diet: the largest share is that of fish: about 60 %, between 40 % and 80 %; age: mean is "
        "about 40.0, between 38.0 and 42.0; height: mean is about 40.0, between 38.0 and 42.0; `query` has 1 "
        "more group."
    )


def test_reports_that_do_not_look_honest_are_not_to_be_relied_on() -> None:
    test = Plausibility(statistic=90.0, degrees_of_freedom=1, p_value=1e-9, flagged=True)
    assert sentences(estimate_of(plausibility=test))[1].endswith(
        "These reports do not look honest: do not rely on it."
    )


def test_a_number_of_an_attribute_is_named_without_the_heading_of_its_column() -> None:
    what, *_ = sentences(marginals_of(collection_of()))
    assert "diet: the largest share is that of meat: about 60" in what
    assert "; age: mean is about 38" in what


def test_each_quantile_is_named_with_its_interval() -> None:
    what, *_ = sentences(numbers_of("[0.5, 0.95]"))
    assert re.search(
        r"; quantiles of age: quantile 0\.5 is about .+, between .+ and .+, and quantile 0\.95 is about .+, between ",
        what,
    )
