"""Tests of what solves are too slow for."""

from stream_ldp.pipeline.solve_time import SolveTime, seconds, too_slow
from tests.client.examples import collection_of

SURVEY = collection_of(window="hop: 30s")
JOINT, MARGINAL = (each.name for each in SURVEY.estimates)


def times(joint_s: float, marginal_s: float = 0.001, *, reports: int = 1_000) -> list[SolveTime]:
    """Make the times of solves for so many reports, and for ten times as many, which take ten times as long."""
    return [
        SolveTime(series=name, reports=factor * reports, first_s=100.0, later_s=factor * time_s)
        for factor in (10, 1)
        for name, time_s in ((JOINT, joint_s), (MARGINAL, marginal_s))
    ]


def test_solves_that_fit_are_not_remarked_upon() -> None:
    """Half of `every`, 2 s, is 1 s; a window ends every 30 s."""
    assert list(too_slow(SURVEY, times(0.09))) == []
    assert list(too_slow(SURVEY, [])) == []


def test_a_solve_that_takes_most_of_the_time_between_provisional_answers_is_named() -> None:
    (sentence,) = too_slow(SURVEY, times(0.11))
    assert sentence == (
        "bathing-mobility: with 10,000 reports a solve takes about 1.1 s, more than 50% of `every`, 2 s: "
        "most provisional answers are skipped"
    )


def test_series_slower_than_their_windows_are_named() -> None:
    *_, sentence = too_slow(SURVEY, times(16.0, 15.0))
    assert sentence == (
        "with 1,000 reports in each window, the solves of a window take about 31 s, and a window ends every 30 s: "
        "finals are later and later"
    )


def test_times_have_two_digits_at_least() -> None:
    assert [seconds(each) for each in (0.00123, 0.5, 9.87, 123.4)] == ["1.2 ms", "500 ms", "9.9 s", "123 s"]
