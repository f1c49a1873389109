"""An estimate as text: all that is needed to judge it, in a panel and on a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_ldp.cli.displays.estimate_text import panel, plain_line, published_line, truth_line
from stream_ldp.cli.simulation.truth import WindowTruth
from stream_ldp.pipeline.answer import Plausibility, Published, WindowBounds
from stream_ldp.records.answer import Axis, Estimate, Fit, Independence, Linked, Privacy, Temporal
from tests.cli.displays.examples import SURVEY_TRUTH, shown
from tests.client.examples import estimate_of


def panel_text(estimate: Estimate, **options: Any) -> str:
    return shown(panel(estimate, **options))


def wide(cells: int) -> Estimate:
    """Make an estimate of one attribute with many values, the later the more probable."""
    joint = np.arange(1, cells + 1) / np.arange(1, cells + 1).sum()
    return estimate_of(
        axes=(Axis(attribute="word", values=tuple(f"w{i}" for i in range(cells))),),
        probability=joint.tolist(),
        standard_error=[0.5] * cells,
    )


def test_a_panel_holds_all_that_is_needed_to_judge_an_estimate() -> None:
    text = panel_text(estimate_of(), truth=SURVEY_TRUTH)
    for part in [
        "care-survey · bathing-mobility",
        "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z · final",
        "bathing, mobility",
        "12,345 reports",
        "lremh from previous, 7 iterations; could gain 1e-07 nats at most, within tolerance",
        "the attributes depend on each other (p < 0.001)",
        "epsilon 1.500 a report, 7.800 for ever: the record does not change",
        "distance to the truth 0.0500",
    ]:
        assert part in text
    assert "WARNING" not in text
    (row,) = (line for line in text.splitlines() if "no, full" in line)
    assert row.split()[1:3] == ["no,", "full"]
    assert row.split()[-4:-1] == ["0.300", "0.010", "0.250"], "probability, standard error, truth"


def test_a_panel_says_what_the_windows_before_have_contributed() -> None:
    alone = [[0.15, 0.2, 0.25], [0.0, 0.15, 0.25]]
    temporal = Temporal(alone=alone, users=1_234.5, drift=0.001, jumped=False, filter=None)
    line = "the windows before weigh as much as 1,234 more users would, and move the answer by 0.0500"
    assert line in panel_text(estimate_of(temporal=temporal))
    assert "the windows before" not in panel_text(estimate_of(temporal=temporal.model_copy(update={"users": 0.0})))
    assert "the windows before" not in panel_text(estimate_of())


def test_bars_are_as_long_as_their_cells_are_probable() -> None:
    text = panel_text(estimate_of(probability=[[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]))
    bars = {line.split("█")[0]: line.count("█") for line in text.splitlines() if "█" in line}
    assert sorted(bars.values()) == [15, 15, 30]


def test_what_speaks_against_an_estimate_is_shown() -> None:
    doubtful = estimate_of(
        final=False,
        effective_reports=20_000.4,
        fit=Fit(method="em", stop="paper", start="uniform", iterations=1, certificate=3.25, certified=False),
        independence=Independence(
            marginals=((0.6, 0.4), (0.1, 0.35, 0.55)), statistic=1, p_value=0.42, dependent=False
        ),
        plausibility=Plausibility(statistic=99.0, degrees_of_freedom=5, p_value=1e-9, flagged=True),
    )
    text = panel_text(doubtful)
    assert "provisional" in text
    assert "worth 20,000 of different users in one window" in text
    assert "could gain 3.2 nats at most, NOT within tolerance" in text
    assert "no dependence can be shown: the attributes may be independent (p = 0.42)" in text
    assert "WARNING: honest reports hardly ever look like this (p < 1e-06)" in text
    assert "certified=no dependent=no plausible=no" in plain_line(doubtful)
    assert "truth" not in text


def test_of_many_cells_the_most_probable_are_shown_and_the_others_counted() -> None:
    text = panel_text(wide(100), cells=3)
    order = [text.index(f"w{i} ") for i in (99, 98, 97)]
    assert order == sorted(order)
    assert "w96 " not in text
    assert f"and 97 more cells with {1 - (100 + 99 + 98) / 5050:.4f} together" in text
    assert "depend on each other" not in text, "one attribute alone cannot"


def test_a_value_is_shown_as_it_is_and_never_as_markup() -> None:
    odd = estimate_of(
        axes=(Axis(attribute="[b]a[/b]", values=("[red]x", "[/]")), estimate_of().axes[1]),
    )
    assert "[b]a[/b], mobility" in panel_text(odd)
    assert "[red]x, full" in panel_text(odd)


def test_a_plain_line_shows_an_estimate_with_its_most_probable_cells() -> None:
    line = plain_line(estimate_of(), truth=SURVEY_TRUTH)
    assert line.startswith(
        "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z bathing-mobility final reports=12345 certified=yes dependent=yes "
        "plausible=yes distance=0.0500 no,full=0.300±0.010 yes,full=0.250±0.010"
    )
    assert plain_line(wide(100)).endswith(" +94")
    assert "distance" not in plain_line(estimate_of(final=False))


def test_the_truth_is_shown_in_the_form_of_the_estimate() -> None:
    truth = WindowTruth(window=WindowBounds(start_ms=500, end_ms=1_500), reports=4, probability=[0.25, 0.75])
    assert truth_line("one", [("a", "b")], truth) == (
        "1970-01-01T00:00:00.500Z/1970-01-01T00:00:01.500Z one truth reports=4 b=0.7500 a=0.2500"
    )


def test_what_readers_could_learn_is_shown_beside_what_the_service_could_and_not_where_it_is_not_known() -> None:
    published = Published(epsilon=0.1189, delta=1e-8, assumption="")
    known = estimate_of(privacy=Privacy(per_report=1.5, for_ever=7.8, assumption="any", published=published))
    line = "epsilon 0.119, but for 1e-08, where the service is trusted and only finals are read"
    assert published_line(published) == line
    assert line in panel_text(known)
    assert "trusted" not in panel_text(estimate_of())


def test_what_linking_tells_and_whose_reports_were_linked_are_shown() -> None:
    linked = Linked(users=1_000, reports=7_000, reports_per_user=1.0, returning=0.75, privacy="one pseudonym for 7d")
    shown = panel_text(estimate_of(linked=linked))
    assert "one pseudonym for 7d" in shown
    assert "7,000 reports of the period, of 1,000 users, of whom 75% reported in the window before" in shown
    assert " reports=12345 users=1000 certified=" in plain_line(estimate_of(linked=linked))
    assert "users=" not in plain_line(estimate_of())
    first = linked.model_copy(update={"returning": None})
    assert "in the window before" not in panel_text(estimate_of(linked=first))
