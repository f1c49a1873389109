"""Tests of the settings that name regions."""

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError


def test_regions_are_read_with_the_time_that_windows_wait_for_each() -> None:
    home = Settings.load(region="eu", regions="us=90s, eu ,ap=5m")
    assert home.region_waits == {"us": 90.0, "eu": None, "ap": 300.0}
    assert home.region_names == ("eu", "us", "ap")
    assert home.merges
    assert not Settings.load(region="us").merges
    alone = Settings.load()
    assert (alone.merges, alone.region_names, alone.region_waits) == (True, ("",), {})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"regions": "eu,us"}, r"regions \(--regions\) are given without region \(--region\)"),
        (
            {"region": "ap", "regions": "eu,us"},
            r"region 'ap' \(--region\) is not among regions \(--regions\), eu, us: add it",
        ),
        ({"region": "eu-wst", "regions": "eu-west,us"}, "add it; did you mean 'eu-west'"),
        ({"region": "e u"}, "'e u' is no name of a region: 1 to 32 letters, digits and hyphens"),
        ({"region": "eu", "regions": "eu,eu=5s"}, "region 'eu' is named twice"),
        ({"region": "eu", "regions": "eu=5"}, "'5' is not a duration"),
        ({"region": "eu", "regions": "eu=0s"}, "region 'eu' is waited for 0 s"),
        ({"region": "eu", "regions": "eu,=5s"}, "'' is no name of a region"),
        ({"region": "r0", "regions": ",".join(f"r{number}" for number in range(33))}, "33 regions, at most 32"),
    ],
)
def test_a_wrong_list_of_regions_is_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        Settings.load(**given)
