"""Tests of the arguments that several commands take."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer

from stream_ldp.cli.arguments import milliseconds, time_option


def test_a_time_without_a_zone_is_utc() -> None:
    assert time_option("2026-01-31T12:30:00") == datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    assert time_option("2026-01-31T12:30:00+02:00").tzinfo == timezone(timedelta(hours=2))


def test_what_is_no_time_is_refused_with_an_example_of_one() -> None:
    with pytest.raises(typer.BadParameter, match="'yesterday' is not a time like 2026-01-31"):
        time_option("yesterday")


def test_times_are_milliseconds_as_those_of_windows() -> None:
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)) == 1_500
    assert milliseconds(None) is None


def test_a_time_may_be_given_by_how_long_ago_it_was() -> None:
    ago = datetime.now(UTC) - time_option("30d")
    assert abs(ago - timedelta(days=30)) < timedelta(minutes=5)
