"""Tests of what fits a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console, RenderableType

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.displays.estimates import EstimateDisplay
from stream_ldp.cli.displays.marginals import MarginalsDisplay
from stream_ldp.cli.displays.places import PlacesDisplay
from stream_ldp.cli.displays.rankings import RankingDisplay
from stream_ldp.cli.displays.strings import StringDisplay
from stream_ldp.cli.kinds import FACES, Face
from stream_ldp.records.answer import Axis
from tests.cli.displays.examples import SURVEY_TRUTH
from tests.client.examples import of_minute
from tests.client.rankings import result_of
from tests.marginals.examples import collection_of, marginals_of
from tests.places.examples import collection_of as places_collection
from tests.places.examples import counts_of
from tests.strings.examples import collection_of as strings_collection
from tests.strings.examples import ranking_of


def drawn(shown: RenderableType, console: Console) -> list[str]:
    with console.capture() as capture:
        console.print(shown)
    return capture.get().splitlines()


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(file=StringIO(), width=width, height=height, force_terminal=True, color_system=None)


def wide(name: str, *, final: bool = True, minute: int = 0) -> object:
    """An estimate of 30 cells, which does not fit."""
    axes = (
        Axis(attribute="age", values=tuple(f"{age} to {age + 9}" for age in range(0, 60, 10))),
        Axis(attribute="diet", values=("meat", "fish", "plants", "milk", "nuts")),
    )
    cells = [[1 / 30] * 5] * 6
    return of_minute(minute, estimate=name, axes=axes, probability=cells, standard_error=cells, final=final)


def filled(display: Display[Any], *answers: object) -> Display[Any]:
    for each in answers:
        display.add(each)
    return display


DISPLAYS = {
    "records": lambda: filled(
        EstimateDisplay(lambda _: None), wide("a"), wide("a", final=False, minute=1), wide("b"), wide("c")
    ),
    "sets": lambda: filled(
        RankingDisplay(lambda _: None),
        result_of(6, items={f"film {number}": 0.9 - number / 100 for number in range(30)}),
        result_of(7, items={f"film {number}": 0.9 - number / 100 for number in range(30)}, final=False),
    ),
    "sampled": lambda: filled(MarginalsDisplay(None), marginals_of(collection_of(), 500)),
    "strings": lambda: filled(StringDisplay(None), ranking_of(strings_collection(), 5_000)),
    "places": lambda: filled(PlacesDisplay(None), counts_of(places_collection(), 500)),
}


@pytest.mark.parametrize("kind", DISPLAYS)
def test_every_view_fits_a_terminal_of_80_by_24_and_names_what_does_not(kind: str) -> None:
    display = DISPLAYS[kind]()
    lines = drawn(display.screen(terminal()), terminal())
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    newest = display.newest()
    assert newest[0].window.__str__() in "\n".join(lines)
    if len(newest) > 1:
        assert lines[-1].startswith("Also: ")
        assert newest[1].series in lines[-1]
    assert display.rows == 12, "a larger terminal shows all rows again"


def test_where_there_is_little_room_the_first_panel_has_fewer_rows() -> None:
    display = DISPLAYS["records"]()
    high, low = (drawn(display.screen(terminal(80, height)), terminal(80, height)) for height in (24, 16))
    assert len(low) <= 16 < len(high)
    assert low[-1] == high[-1], "the others are named all the same"
    assert "more cells" in "\n".join(low)


def test_what_fits_is_shown_whole() -> None:
    display = filled(EstimateDisplay(lambda _: SURVEY_TRUTH), of_minute(0), of_minute(1, final=False))
    text = "\n".join(drawn(display.screen(terminal(110, 60)), terminal(110, 60)))
    assert text.count("distance to the truth") == 2
    assert "Also" not in text


def test_nothing_yet_is_an_empty_screen() -> None:
    assert drawn(EstimateDisplay(lambda _: None).screen(terminal()), terminal()) in ([], [""])


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_the_display_of_every_kind_shows_as_many_rows_as_it_is_asked_for(face: Face) -> None:
    assert face.display(None, rows=7).rows == 7, "or it could not be made to fit"
