"""Which answers are current, what fits a terminal, and what JSON adds."""

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console, RenderableType

from stream_ldp.cli.displays.display import Display
from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.records.distribution import Axis
from tests.cli.displays.examples import FILMS_TRUTH, SURVEY_TRUTH
from tests.client.examples import of_minute
from tests.client.rankings import ranking_of, result_of
from tests.marginals.examples import collection_of, marginals_of
from tests.places.examples import collection_of as places_collection
from tests.places.examples import counts_of
from tests.strings.examples import collection_of as strings_collection
from tests.strings.examples import ranking_of as strings_of


def drawn(shown: RenderableType, console: Console) -> list[str]:
    with console.capture() as capture:
        console.print(shown)
    return capture.get().splitlines()


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(file=StringIO(), width=width, height=height, force_terminal=True, color_system=None)


def wide(name: str, *, final: bool = True, minute: int = 0) -> object:
    """Make an estimate of 30 cells, which does not fit."""
    axes = (
        Axis(attribute="age", values=tuple(f"{age} to {age + 9}" for age in range(0, 60, 10))),
        Axis(attribute="diet", values=("meat", "fish", "plants", "milk", "nuts")),
    )
    cells = [[1 / 30] * 5] * 6
    return of_minute(minute, estimate=name, axes=axes, probability=cells, standard_error=cells, final=final)


def filled(*answers: object, truth_of: Any = lambda _: None) -> Display[Any]:
    display: Display[Any] = Display(truth_of)
    for each in answers:
        display.add(each)
    return display


FILMS = {f"film {number}": 0.9 - number / 100 for number in range(30)}

DISPLAYS = {
    "records": lambda: filled(wide("a"), wide("a", final=False, minute=1), wide("b"), wide("c")),
    "sets": lambda: filled(result_of(6, items=FILMS), result_of(7, items=FILMS, final=False)),
    "sampled": lambda: filled(marginals_of(collection_of(), 500)),
    "strings": lambda: filled(strings_of(strings_collection(), 5_000)),
    "places": lambda: filled(counts_of(places_collection(), 500)),
}


@pytest.mark.parametrize("kind", DISPLAYS)
def test_every_view_fits_a_terminal_of_80_by_24_and_names_what_does_not(kind: str) -> None:
    display = DISPLAYS[kind]()
    lines = drawn(display.screen(terminal()), terminal())
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    newest = display.newest()
    assert str(newest[0].window) in "\n".join(lines)
    if len(newest) > 1:
        assert lines[-1].startswith("Also: ")
        assert newest[1].series in lines[-1]


def test_where_there_is_little_room_the_first_panel_has_fewer_rows() -> None:
    display = DISPLAYS["records"]()
    high, low = (drawn(display.screen(terminal(80, height)), terminal(80, height)) for height in (24, 16))
    assert len(low) <= 16 < len(high)
    assert low[-1] == high[-1], "the others are named all the same"
    assert " more " in "\n".join(low)
    assert drawn(display.screen(terminal()), terminal()) == high, "a larger terminal shows all rows again"


def test_what_fits_is_shown_whole_each_with_its_truth() -> None:
    display = filled(of_minute(0), of_minute(1, final=False), truth_of=SURVEY_TRUTH.of)
    text = "\n".join(drawn(display.screen(terminal(110, 60)), terminal(110, 60)))
    assert text.count("beside the truth: distance") == 2
    assert "Also" not in text


def test_nothing_yet_is_an_empty_screen() -> None:
    assert drawn(filled().screen(terminal()), terminal()) in ([], [""])


def test_the_newest_are_the_last_final_of_each_series_and_that_of_the_open_window() -> None:
    display = filled(
        of_minute(0),
        of_minute(0, estimate="a"),
        of_minute(1, final=False),
        of_minute(1, final=False, reports=2),
        of_minute(1, estimate="a", final=False),
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
    )
    assert display.newest() == [
        of_minute(1, estimate="a"),
        of_minute(5, estimate="b", final=False),
        of_minute(0),
        of_minute(1, final=False, reports=2),
    ]


def test_a_provisional_answer_is_shown_until_its_final() -> None:
    final, provisional = marginals_of(collection_of(), 100), marginals_of(collection_of(), 50, final=False)
    later = provisional.model_copy(update={"window": WindowBounds(start_ms=30_000, end_ms=40_000)})
    assert filled(provisional).newest() == [provisional]
    assert filled(provisional, final).newest() == [final]
    assert filled(provisional, final, later).newest() == [final, later]


def test_the_newest_rankings_are_the_last_result_and_the_latest_of_the_next_epoch() -> None:
    sequential = [result_of(6), ranking_of(epoch=7, phase=1), result_of(7, final=False)]
    assert filled(*sequential).newest() == [result_of(6), result_of(7, final=False)]
    assert filled(*sequential, result_of(7)).newest() == [result_of(7)]
    assert filled(ranking_of(epoch=7, phase=1, final=False)).newest() == [ranking_of(epoch=7, phase=1, final=False)]


def test_ranks_are_compared_with_the_result_of_an_earlier_epoch() -> None:
    display = filled(result_of(5), result_of(6))
    text = {
        epoch: "\n".join(drawn(display.panel(ranking), terminal(110)))
        for epoch, ranking in {5: result_of(5), 6: result_of(6), 7: ranking_of(epoch=7, phase=1)}.items()
    }
    assert {epoch: "change" in shown for epoch, shown in text.items()} == {5: False, 6: True, 7: True}


def test_json_is_the_message_with_the_truth_beside_it() -> None:
    published = json.loads(result_of(6).to_bytes())
    assert json.loads(filled().json(result_of(6))) == published
    beside = json.loads(filled(truth_of=FILMS_TRUTH.of).json(result_of(6)))
    assert {name: beside.pop(name) for name in ("truth", "found")} == {
        "truth": {"Casablanca": 0.53, "Alien": 0.24},
        "found": 1,
    }
    assert beside.pop("mean_error") == pytest.approx(0.02)
    assert beside == published
