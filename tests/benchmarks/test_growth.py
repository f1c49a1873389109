"""The benchmark of growth runs, and the page about performance is made from what it measured."""

import json

import pytest

from tests.benchmarks.growth import curves, page, workers
from tests.benchmarks.growth.__main__ import main


def test_the_page_is_made_from_what_was_measured() -> None:
    assert page.made(page.kept()) == page.PAGE.read_text(encoding="utf-8")
    kept = [each["against"] for each in page.kept()["curves"]]
    assert kept == [each.against for each in (*curves.CURVES, *workers.CURVES)]


def test_a_curve_can_be_measured_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--smoke", "--only", "past windows"])
    found = json.loads(capsys.readouterr().out)["curves"]
    assert [each["against"] for each in found] == ["past windows on the log"]
    with pytest.raises(SystemExit):
        main(["--only", "no such size"])
    assert "past windows on the log" in capsys.readouterr().err


def test_every_curve_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--smoke", "--without-kafka"])
    found = json.loads(capsys.readouterr().out)["curves"]
    assert [each["against"] for each in found] == [each.against for each in curves.CURVES]
    assert all(cost > 0 for each in found for _, cost in each["points"])
