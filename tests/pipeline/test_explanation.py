"""An answer of any kind is explained in three sentences that agree with its numbers."""

from __future__ import annotations

from typing import Any

import pytest

from stream_ldp.pipeline.answer import Plausibility
from stream_ldp.pipeline.explanation import sentences
from tests.client.examples import estimate_of
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
        "By 12,345 reports, the largest number is that of bathing no, mobility full: about 30.0 %, "
        "between 28.0 % and 32.0 %."
    )
    assert privacy.startswith("What it costs a user: ")


def test_reports_that_do_not_look_honest_are_not_to_be_relied_on() -> None:
    test = Plausibility(statistic=90.0, degrees_of_freedom=1, p_value=1e-9, flagged=True)
    assert sentences(estimate_of(plausibility=test))[1].endswith("these do not look so: do not rely on it.")
