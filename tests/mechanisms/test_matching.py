"""How many users are found again across periods: nearly all of wide records, hardly any of narrow ones."""

from functools import partial

from stream_ldp.mechanisms.matching import matched_share

share_of = partial(matched_share, f=0.25, p=0.25, q=0.75)


def test_users_of_wide_records_are_found_again_and_those_of_narrow_ones_are_not() -> None:
    """Seeded; 97.7 % of 2,000 users at 8 reports a period were measured for 16 binary attributes."""
    assert share_of([2] * 16, reports=8) > 0.95
    assert share_of([2, 3], reports=8) < 0.1


def test_more_reports_and_fewer_users_are_matched_better() -> None:
    wide = [2] * 6
    assert share_of(wide, reports=32, users=200) > share_of(wide, reports=4, users=200) + 0.1
    assert share_of(wide, reports=8, users=50) > share_of(wide, reports=8, users=300)
    assert share_of(wide, reports=8, users=1) == 1
