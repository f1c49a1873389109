"""The key of an answer: finals keep theirs, and the live view has one; its times and its parts in words."""

import pytest
from pydantic import ValidationError

from stream_ldp.errors import ParameterError
from stream_ldp.pipeline.answer import Plausibility, WindowBounds, final_of, moment
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS
from tests.client.examples import MINUTE_MS, estimate_of
from tests.client.rankings import result_of


def test_each_final_has_its_own_key_and_provisionals_share_one() -> None:
    later = WindowBounds(start_ms=MINUTE_MS, end_ms=2 * MINUTE_MS)
    finals = {estimate_of().key, estimate_of(window=later).key, estimate_of(estimate="other").key}
    assert len(finals) == 3
    assert estimate_of(final=False).key == estimate_of(final=False, window=later).key
    assert estimate_of(final=False).key not in finals


def test_a_plausibility_that_cannot_be_tested_is_null() -> None:
    nothing = Plausibility.model_construct(statistic=0.0, degrees_of_freedom=0, p_value=1.0, flagged=False)
    assert estimate_of(plausibility=nothing).plausibility is None


def test_a_moment_has_milliseconds_only_where_it_does_not_begin_a_second() -> None:
    assert moment(1_700_000_000_000) == "2023-11-14T22:13:20Z"
    assert moment(1_700_000_000_001) == "2023-11-14T22:13:20.001Z"
    assert moment(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    ("start_ms", "end_ms"), [(10**18, 10**18 + 1), (0, 10**30), (FIRST_MS - 1, 0), (0, LAST_MS + 1), (5, 5), (5, 4)]
)
def test_a_window_that_cannot_be_written_as_two_dates_is_refused(start_ms: int, end_ms: int) -> None:
    with pytest.raises(ValidationError):
        WindowBounds(start_ms=start_ms, end_ms=end_ms)


def test_the_first_and_the_last_window_can_be_written() -> None:
    assert str(WindowBounds(start_ms=FIRST_MS, end_ms=LAST_MS)) == "0001-01-01T00:00:00Z/9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize("start", ["9" * 5_000, "9" * 16, "\u0664", "--1", "-", "1.0", " 1"])
def test_the_key_of_a_final_has_a_time_of_at_most_fifteen_digits(start: str) -> None:
    assert final_of(f"joint|final|{start}".encode()) is None


def test_an_answer_without_attributes_refuses_to_be_asked_about_them() -> None:
    with pytest.raises(ParameterError, match="answers of this kind have no attributes to choose from: "):
        result_of(7).narrowed_to(["Alien"])
