"""These tests show which estimates are current, and how a terminal shows them."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from stream_ldp.cli.displays.estimates import EstimateDisplay
from tests.cli.displays.examples import SURVEY_TRUTH
from tests.client.examples import of_minute


def test_the_newest_estimates_are_the_last_final_one_and_that_of_the_open_window() -> None:
    display = EstimateDisplay(lambda _: None)
    for estimate in [
        of_minute(0),
        of_minute(0, estimate="a"),
        of_minute(1, final=False),
        of_minute(1, final=False, reports=2),
        of_minute(1, estimate="a", final=False),
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
    ]:
        display.add(estimate)
    assert display.newest() == [
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
        of_minute(0),
        of_minute(1, final=False, reports=2),
    ]


def test_a_terminal_shows_the_newest_in_place_each_with_its_truth() -> None:
    console = Console(file=StringIO(), width=110, height=60, force_terminal=True, color_system=None)
    display = EstimateDisplay(lambda estimate: SURVEY_TRUTH if estimate.final else None)
    for estimate in (of_minute(0), of_minute(1, final=False), of_minute(1, final=False, reports=777)):
        display.add(estimate)
    with console.capture() as capture:
        console.print(display.screen(console))
    text = capture.get()
    assert text.count("bathing-mobility") == 2
    assert text.count("distance to the truth") == 1
    assert "777 reports" in text
