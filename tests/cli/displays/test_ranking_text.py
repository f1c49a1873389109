"""A ranking as text: all that is needed to judge it, in a panel and on a line."""

from __future__ import annotations

from stream_ldp.cli.displays.ranking_text import ranking_line, ranking_panel
from stream_ldp.pipeline.answer import Plausibility
from stream_ldp.sets.answer import Learnt
from tests.cli.displays.examples import FILMS_TRUTH, shown
from tests.client.rankings import ranking_of, result_of


def test_a_panel_holds_all_that_is_needed_to_judge_a_ranking() -> None:
    text = shown(ranking_panel(result_of(7), truth=FILMS_TRUTH))
    for part in [
        "films · epoch 7 · result",
        "1970-01-01T00:15:00Z/1970-01-01T00:16:00Z · final",
        "1,000 + 2,000 reports, phase by phase",
        "ldpminer at epsilon 2.000 an epoch: any two sets of items",
        "1 of the true top 2 found; their frequencies are 0.0200 off on average",
    ]:
        assert part in text
    assert "WARNING" not in text
    assert "not the epoch's result" not in text
    (row,) = (line for line in text.splitlines() if "Casablanca" in line)
    assert row.split()[1:3] == ["1", "Casablanca"]
    assert row.split()[-4:-1] == ["0.500", "0.020", "0.530"], "frequency, standard error, truth"


def test_ranks_are_compared_with_the_result_of_the_epoch_before() -> None:
    before = result_of(6, items={"Brazil": 0.4, "Alien": 0.3})
    ranking = result_of(7, items={"Alien": 0.5, "Brazil": 0.25})
    changes = {
        line.split()[3]: line.split()[2] for line in shown(ranking_panel(ranking, before=before)).splitlines()[2:4]
    }
    assert changes == {"Alien": "▲1", "Brazil": "▼1"}
    new = result_of(7, items={"Brazil": 0.5, "Casablanca": 0.25})
    changes = {
        line.split()[3]: line.split()[2] for line in shown(ranking_panel(new, before=before)).splitlines()[2:4]
    }
    assert changes == {"Brazil": "=", "Casablanca": "new"}
    assert "change" not in shown(ranking_panel(ranking))


def test_what_speaks_against_a_ranking_is_shown() -> None:
    doubtful = ranking_of(
        epoch=7,
        phase=1,
        final=False,
        plausibility=Plausibility(statistic=99.0, degrees_of_freedom=7, p_value=1e-9, flagged=True),
    )
    text = shown(ranking_panel(doubtful))
    assert "phase 1 of 2" in text
    assert "provisional" in text
    assert "not the epoch's result yet" in text
    assert "WARNING: honest reports hardly ever look like this (p < 1e-06)" in text
    assert "phase=1/2 provisional reports=1000 plausible=no" in ranking_line(doubtful)


def test_reports_that_could_not_be_tested_are_not_called_plausible() -> None:
    untested = result_of(7, plausibility=None)
    assert "whether these reports are honest cannot be tested" in shown(ranking_panel(untested))
    assert "plausible=untested" in ranking_line(untested)
    assert "cannot be tested" not in shown(ranking_panel(result_of(7)))


def test_of_many_items_the_best_are_shown_and_the_others_counted() -> None:
    ranking = result_of(7, items={f"film {number}": 0.9 - 0.01 * number for number in range(9)})
    text = shown(ranking_panel(ranking, rows=3))
    assert "film 2" in text
    assert "film 3" not in text
    assert "and 6 more of the top" in text
    assert ranking_line(ranking).endswith("film_5=0.850±0.020 +3")


def test_an_item_is_shown_as_it_is_and_never_as_markup() -> None:
    assert "[red]Fargo" in shown(ranking_panel(result_of(7, items={"[red]Fargo": 0.1})))


def test_a_ranking_of_items_that_nobody_seems_to_hold_can_be_shown() -> None:
    assert "0.000" in shown(ranking_panel(result_of(7, items={"Alien": 0.0}), truth=FILMS_TRUTH))


def test_a_plain_line_shows_a_ranking_with_its_best_items() -> None:
    assert ranking_line(result_of(7), truth=FILMS_TRUTH) == (
        "1970-01-01T00:15:00Z/1970-01-01T00:16:00Z epoch=7 phase=2/2 final reports=2000 plausible=yes found=1/2 "
        "Casablanca=0.500±0.020 Alien=0.250±0.020"
    )


def test_the_weight_of_the_epochs_before_is_shown() -> None:
    ranking = result_of(7)
    learnt = Learnt(alone=(0.5,), weight=12_345.6, drift=1e-5, jumped=False)
    weighty = ranking.model_copy(update={"learnt": learnt})
    assert "the epochs before weigh as much as 12,346 reports of the last phase" in shown(ranking_panel(weighty))
    assert "the epochs before" not in shown(ranking_panel(ranking))
