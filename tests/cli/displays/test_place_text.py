"""Counts of places as text: on a line, in a panel, and the truth beside them."""

from __future__ import annotations

from stream_ldp.cli.displays.place_text import place_truth_lines, places_line, places_panel
from stream_ldp.cli.simulation.place_truth import PlaceTally
from tests.cli.displays.examples import shown
from tests.places.examples import collection_of, counts_of, users

COLLECTION = collection_of()
COUNTS = counts_of(COLLECTION)
TRUTH = (8000.0, 5000.0, 4000.0, 2000.0, 1000.0)


def test_a_line_has_the_places_by_their_counts() -> None:
    line = places_line(COUNTS, truth=TRUTH)
    assert line.startswith("1970-01-01T00:00:20Z/1970-01-01T00:00:30Z places final reports=20000 plausible=untested ")
    assert line.index(" a=") < line.index(" b=") < line.index(" c=")
    assert "(8000)" in line
    assert "(" not in places_line(COUNTS)


def test_a_panel_has_the_counts_and_what_they_rest_on() -> None:
    text = shown(places_panel(COUNTS, truth=TRUTH))
    for word in ("visits · places", "truth", "8,000", "20,000 reports, by region: everywhere", "epsilon 0.500 or"):
        assert word in text
    assert "weighted by variance" not in text
    few = shown(places_panel(COUNTS, rows=2))
    assert "and 3 more with" in few
    assert "truth" not in few


def test_weights_are_told_with_what_they_assume() -> None:
    weighted = counts_of(collection_of("epsilon: [0.5, 2], weights: variance"), 100)
    assert "right only if the choice of epsilon has nothing to do with the place" in shown(places_panel(weighted))


def test_the_truth_of_a_window_is_a_line() -> None:
    tally = PlaceTally(COLLECTION, users(10))
    tally.add(users(10), time_ms=20_000)
    (line,) = place_truth_lines(tally.truth())
    assert " places truth reports=10 " in line
