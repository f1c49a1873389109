"""Rankings of strings as text: on a line, in a panel, and the truth beside them."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from stream_ldp.cli.displays.string_text import string_truth_lines, strings_line, strings_panel
from stream_ldp.cli.simulation.string_truth import StringTally, TrueStrings
from stream_ldp.strings.answer import StringRanking
from tests.strings.examples import collection_of, ranking_of, users
from tests.strings.test_temporal import windows

COLLECTION = collection_of()
RANKING = ranking_of(COLLECTION)
TRUTH = TrueStrings(users={"apple": 40, "banana": 25, "cherry": 15, "fig": 12, "plum": 8})


def shown(ranking: StringRanking, *, rows: int = 12, truth: bool = True) -> str:
    console = Console(file=StringIO(), width=160, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(strings_panel(ranking, truth=TRUTH if truth else None, rows=rows))
    return capture.get()


def test_a_line_has_the_strings_by_frequency_with_errors() -> None:
    line = strings_line(RANKING, truth=TRUTH)
    assert line.startswith(
        "1970-01-01T00:00:20Z/1970-01-01T00:00:30Z strings final reports=20000 plausible=yes told="
    )
    assert line.index(" apple=0.") < line.index(" banana=0.") < line.index(" plum=0.")
    assert " found=5/" in line


def test_a_panel_has_what_is_needed_to_judge_a_ranking() -> None:
    text = shown(RANKING)
    for word in ("words · strings", "apple", "0.4000", "by chance", "pem at epsilon 4.000 for ever", "candidates"):
        assert word in text
    assert "truth" not in shown(RANKING, truth=False)
    assert "and " in shown(RANKING, rows=2)


def test_a_panel_says_how_much_the_windows_before_weigh() -> None:
    collection = collection_of(window=", returning: 0")
    *_, last = windows(collection, seed=1, starts=range(3), count=3_000)
    assert last.learnt is not None
    assert f"the windows before weigh as much as {last.learnt.shares.weight:,.0f} reports" in shown(last)
    assert "windows before" not in shown(RANKING)


def test_a_ranking_of_nothing_says_why() -> None:
    assert "no string stands out of the noise" in shown(RANKING.model_copy(update={"strings": ()}))
    unanswered = RANKING.model_copy(update={"strings": None})
    assert "a question that the ranking takes has no answers" in shown(unanswered)
    assert " told=none" in strings_line(unanswered)


def test_a_string_that_a_terminal_would_obey_is_spelt_out() -> None:
    assert RANKING.strings is not None
    strings = (RANKING.strings[0].model_copy(update={"string": "\x1b[2J\n"}),)
    hostile = RANKING.model_copy(update={"strings": strings})
    assert r" \x1b[2J\n=0." in strings_line(hostile)
    assert r" \x1b[2J\n " in shown(hostile, truth=False)


def test_the_truth_of_a_window_is_a_line() -> None:
    tally = StringTally(COLLECTION, users(COLLECTION, 100))
    tally.add(users(COLLECTION, 100), time_ms=20_000)
    (line,) = string_truth_lines(tally.truth())
    assert line.startswith("1970-01-01T00:00:20Z/1970-01-01T00:00:30Z strings truth reports=100 apple=0.")
