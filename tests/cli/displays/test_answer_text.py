"""An answer as text: all that is needed to judge it, in a panel and on a line."""

import re
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.displays.answer_text import AnswerText, truth_line
from stream_ldp.kinds import KINDS
from stream_ldp.marginals.answer import Frequencies
from stream_ldp.pipeline.answer import Answer, Plausibility, Published, RegionPart, RegionState, Status, WindowBounds
from stream_ldp.pipeline.cells import CellKey
from stream_ldp.records.answer import Estimate
from stream_ldp.records.distribution import Axis
from stream_ldp.schemas import FOLDER
from tests.cli.displays.examples import FILMS_TRUTH, SURVEY_TRUTH, panel
from tests.client.examples import MINUTE_MS, estimate_of
from tests.client.rankings import ranking_of, result_of
from tests.marginals.examples import collection_of, marginals_of, outputs_of
from tests.marginals.test_answer import numbers_of
from tests.places.examples import collection_of as places_collection
from tests.places.examples import counts_of
from tests.strings.examples import collection_of as strings_collection
from tests.strings.examples import ranking_of as strings_of
from tests.toy import Share

FLAGGED = Plausibility(statistic=99.0, degrees_of_freedom=5, p_value=1e-9, flagged=True)


def line(answer: Answer, truth: dict[CellKey, float] | None = None) -> str:
    return AnswerText.of(answer, truth=truth).line()


def wide(cells: int) -> Estimate:
    """Make an estimate of one attribute with many values, the later the more probable."""
    joint = np.arange(1, cells + 1) / np.arange(1, cells + 1).sum()
    return estimate_of(
        axes=(Axis(attribute="word", values=tuple(f"w{i}" for i in range(cells))),),
        probability=joint.tolist(),
        standard_error=[0.5] * cells,
    )


def example_of(kind: str) -> Any:
    answer = KINDS[kind].answer
    return answer.from_bytes((FOLDER / "examples" / f"{answer.__name__.lower()}-v1.json").read_bytes())


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_of_every_kind_has_a_panel_and_a_line_with_what_judges_it(kind: str) -> None:
    answer = example_of(kind)
    judged, text = answer.judgement(), panel(answer, width=2_000)
    for sentence in (*judged.evidence, *judged.previous, *judged.privacy):
        assert sentence in text
    assert f"{answer.collection} · {answer.look.title}" in text
    assert str(answer.window) in text
    for cell in list(answer.cells())[:1]:
        assert all(name in text for name in cell.names)
    assert line(answer).startswith(f"{answer.window} {answer.series} ")
    for name, value in judged.facts.items():
        assert f" {name.replace(' ', '_')}={value} " in f"{line(answer)} "


def test_an_answer_of_a_new_kind_is_shown_by_its_cells_alone() -> None:
    heads = Share(
        collection="coins",
        fingerprint="0" * 32,
        window=WindowBounds(start_ms=0, end_ms=MINUTE_MS),
        final=True,
        reports=3,
        share=0.75,
    )
    assert "coins · heads" in panel(heads)
    assert line(heads, {("", ("heads",)): 0.5}).endswith(
        " heads final reports=3 plausible=untested heads=0.7500(0.5000)"
    )


def test_a_panel_has_the_cells_by_their_numbers_with_errors_and_truth() -> None:
    text = panel(estimate_of(), truth=SURVEY_TRUTH.of(estimate_of()))
    assert "bathing  mobility" in text
    assert "beside the truth: distance 0.0500" in text
    (row,) = (line for line in text.splitlines() if " full " in line and " no " in line)
    assert row.split()[1:3] == ["no", "full"]
    assert row.split()[-6:-1] == ["0.300", "0.280", "to", "0.320", "0.250"], "probability, interval, truth"
    assert "truth" not in panel(estimate_of())


def test_bars_are_as_long_as_their_cells_are_large() -> None:
    text = panel(estimate_of(probability=[[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]))
    assert sorted(line.count("█") for line in text.splitlines() if "█" in line) == [15, 15, 30]


def test_of_many_cells_the_largest_are_shown_and_the_others_counted() -> None:
    text = panel(wide(100), rows=3)
    order = [text.index(f"w{i} ") for i in (99, 98, 97)]
    assert order == sorted(order)
    assert "w96 " not in text
    (row,) = (line for line in text.splitlines() if "and 97 more" in line)
    assert row.split()[-2] == f"{1 - (100 + 99 + 98) / 5050:.2f}"
    assert line(wide(100)).endswith(" +94")
    films = result_of(7, items={f"film {number}": 0.9 - 0.01 * number for number in range(9)})
    (row,) = (line for line in panel(films, rows=3).splitlines() if "and 6 more" in line)
    assert row.split()[-2] == "more", "sets have several items: their shares have no sum"
    assert line(films).endswith("film_5=0.850±0.020 +3")


def test_a_value_is_shown_as_it_is_and_never_as_markup() -> None:
    odd = estimate_of(axes=(Axis(attribute="[b]a[/b]", values=("[red]x", "[/]")), estimate_of().axes[1]))
    assert "[b]a[/b]" in panel(odd)
    assert "[red]x" in panel(odd)
    assert r"\x1b[2J\n=0.1" in line(result_of(7, items={"\x1b[2J\n": 0.1}))


def test_a_line_shows_an_answer_with_its_largest_cells() -> None:
    assert line(estimate_of(), SURVEY_TRUTH.of(estimate_of())).startswith(
        "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z bathing-mobility final reports=12345 plausible=yes certified=yes "
        "dependent=yes distance=0.0500 no,full=0.300±0.010(0.250) yes,full=0.250±0.010(0.250) "
    )
    assert line(result_of(7), FILMS_TRUTH.of(result_of(7))) == (
        "1970-01-01T00:15:00Z/1970-01-01T00:16:00Z phase-2 final reports=2000 plausible=yes epoch=7 phase=2/2 "
        "found=1/2 mean_error=0.0200 Casablanca=0.500±0.020(0.530) Alien=0.250±0.020(0.240)"
    )
    assert "(" not in line(estimate_of(final=False))


def test_a_line_and_a_panel_have_what_an_answer_has_of_each_region() -> None:
    parts = (
        RegionPart(region="eu", state=RegionState.WHOLE, reports=12_000),
        RegionPart(region="us", state=RegionState.CUT_OFF, reports=345),
    )
    answer = estimate_of(sources=parts)
    assert " regions=eu:whole,us:cut-off " in line(answer)
    assert line(estimate_of(sources=parts, status=Status.NO_REPORTS)).endswith(
        "no-reports regions=eu:whole,us:cut-off"
    )
    assert "regions: eu: 12,000 reports, whole; us: 345 reports, cut-off" in panel(answer)
    assert "regions" not in line(estimate_of()) + panel(estimate_of())


def test_a_silence_is_a_line_with_the_time_that_it_spans() -> None:
    bounds = WindowBounds(start_ms=0, end_ms=3 * MINUTE_MS)
    silent = estimate_of(window=bounds, status=Status.NO_REPORTS)
    assert line(silent) == "1970-01-01T00:00:00Z/1970-01-01T00:03:00Z bathing-mobility no-reports"


def test_a_panel_warns_of_reports_that_do_not_look_honest_and_of_those_that_cannot_be_tested() -> None:
    flagged, untested = (result_of(7, plausibility=each) for each in (FLAGGED, None))
    assert "WARNING: the plausibility test fails (p < 1e-06): some reports may be crafted" in panel(flagged)
    assert "plausible=no" in line(flagged)
    assert "no test of these reports can detect crafted ones" in panel(untested)
    assert "plausible=untested" in line(untested)
    assert not any(word in panel(result_of(7)) for word in ("WARNING", "tested"))


def test_a_panel_says_what_readers_of_finals_could_learn_where_it_is_known() -> None:
    stated = Published.among("10,000", epsilon=0.2, delta=1e-8, hidden="any two records")
    privacy = estimate_of().privacy.model_copy(update={"published": stated})
    shown = " ".join(panel(estimate_of(privacy=privacy)).replace("│", " ").split())
    assert str(stated) in shown
    assert "readers" not in panel(estimate_of())


def test_ranks_are_compared_with_an_earlier_answer() -> None:
    before = result_of(6, items={"Brazil": 0.4, "Alien": 0.3})

    def changes(ranking: Answer) -> dict[str, str]:
        rows = panel(ranking, before=before).splitlines()[2:4]
        return {row.split()[3]: row.split()[2] for row in rows}

    assert changes(result_of(7, items={"Alien": 0.5, "Brazil": 0.25})) == {"Alien": "▲1", "Brazil": "▼1"}
    assert changes(result_of(7, items={"Brazil": 0.5, "Casablanca": 0.25})) == {"Brazil": "=", "Casablanca": "new"}
    assert "change" not in panel(result_of(7))
    assert "new" not in panel(estimate_of(), before=estimate_of(probability=[[0.0] * 3, [0.0, 0.5, 0.5]]))


def test_cells_of_nobody_can_be_shown() -> None:
    nobody = result_of(7, items={"Alien": 0.0, "Brazil": 0.0})
    assert "0.000" in panel(nobody, truth=FILMS_TRUTH.of(nobody))
    assert "no numbers to show" in panel(strings_of(strings_collection()).model_copy(update={"strings": ()}))


def test_groups_stand_one_below_the_other_each_with_its_largest_cells() -> None:
    marginals = marginals_of(collection_of())
    text = panel(marginals, rows=1)
    assert [text.count(f" {name} ") >= 1 for name in ("diet", "age", "smokes", "mean")] == [True] * 4
    assert "and 2 more" in text
    words = line(marginals)
    assert words.index(" diet,meat=0.") < words.index(" diet,fish=0.") < words.index(" age,mean=")


def test_bins_and_quantiles_stand_in_their_own_order() -> None:
    bins, shares = ("[0,18)", "[18,65)", "[65,120]"), (0.2, 0.5, 0.3)
    marginals = numbers_of("[0.05, 0.5]")
    first, *others = marginals.attributes
    ages = Frequencies(values=bins, raw=shares, standard_error=(0.01,) * 3, projected=shares)
    answer = marginals.model_copy(update={"attributes": (first.model_copy(update={"estimate": ages}), *others)})
    truth: dict[CellKey, float] = {("diet", (name,)): share for name, share in zip(bins, shares, strict=True)}
    told = truth_line(WindowBounds(start_ms=0, end_ms=1_000), "one", 4, truth)
    for text in (panel(answer, width=200), line(answer), told):
        assert sorted(bins, key=text.index) == list(bins)
    assert line(answer).index("quantile_0.05") < line(answer).index("quantile_0.5=")


def test_an_interval_stands_on_one_line_in_a_narrow_terminal() -> None:
    text = panel(numbers_of(), width=80)
    assert re.search(r"^│ diet +meat .* 0\.\d+ to 0\.\d+ ", text, re.MULTILINE)


def test_a_cell_whose_truth_is_not_known_is_compared_with_nothing() -> None:
    text = AnswerText.of(outputs_of(), truth={("level", ("a",)): 1.0})
    assert text.document() == {"truth": {}}
    assert "(" not in text.line()


def test_json_has_the_truth_of_each_cell_and_the_measures() -> None:
    estimate, ranking, marginals = estimate_of(), result_of(6), marginals_of(collection_of())
    document = AnswerText.of(estimate, truth=SURVEY_TRUTH.of(estimate)).document()
    assert document["truth"]["no, full"] == 0.25
    assert document["distance"] == pytest.approx(0.05)
    assert AnswerText.of(ranking, truth=FILMS_TRUTH.of(ranking)).document() == {
        "truth": {"Casablanca": 0.53, "Alien": 0.24},
        "found": 1,
        "mean_error": pytest.approx(0.02),
    }
    found = AnswerText.of(marginals, truth={("diet", ("meat",)): 0.6, ("age", ("mean",)): 40.0}).document()
    assert found == {"truth": {"diet": {"meat": 0.6, "fish": 0.0, "plants": 0.0}, "age": {"mean": 40.0}}}
    assert AnswerText.of(estimate).document() == {}


def test_true_shares_are_compared_with_counts_of_as_many_reports() -> None:
    counts = counts_of(places_collection(), 1_000)
    text = panel(counts, truth={("", ("a",)): 0.4, ("", ("b",)): 0.25})
    assert [row.split()[-2] for row in text.splitlines() if " a  " in row or " b  " in row] == ["400", "250"]


def test_the_truth_is_shown_in_the_form_of_the_answer() -> None:
    bounds = WindowBounds(start_ms=500, end_ms=1_500)
    truth: dict[CellKey, float] = {("", ("a", "x")): 0.25, ("", ("b", "y z")): 0.75}
    truth |= {("g", (f"{n}",)): n / 10 for n in range(8)}
    assert truth_line(bounds, "one", 4, truth) == (
        "1970-01-01T00:00:00.500Z/1970-01-01T00:00:01.500Z one truth reports=4 b,y_z=0.7500 a,x=0.2500 g,7=0.7000 "
        "g,6=0.6000 g,5=0.5000 g,4=0.4000 g,3=0.3000 g,2=0.2000 +2"
    )


def test_a_ranking_of_a_running_epoch_says_how_far_it_is() -> None:
    text = panel(ranking_of(epoch=7, phase=1, final=False))
    assert "phase 1 of 2" in text
    assert "provisional" in text
