"""Marginals as text: on a line, in a panel, and the truth beside them."""

from __future__ import annotations

from io import StringIO

import numpy as np
from rich.console import Console

from stream_ldp.cli.displays.estimate_text import published_line
from stream_ldp.cli.displays.marginal_text import marginal_truth_lines, marginals_line, marginals_panel
from stream_ldp.cli.simulation.marginal_truth import MarginalTally
from stream_ldp.marginals.answer import Frequencies, Marginals
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.answer import Published
from tests.marginals.examples import collection_of, marginals_of, outputs_of, solved, sums_of, users
from tests.marginals.test_temporal import windows

COLLECTION = collection_of()
TRUTH = {"diet": (0.6, 0.3, 0.1), "age": (40.0,), "smokes": (0.8, 0.2)}


def shown_of(marginals: Marginals, truth: dict[str, tuple[float, ...]] | None = None, *, rows: int = 12) -> str:
    console = Console(file=StringIO(), width=160, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(marginals_panel(marginals, truth=truth, rows=rows))
    return capture.get()


def shown(*, rows: int = 12, truth: bool = True) -> str:
    return shown_of(marginals_of(COLLECTION), TRUTH if truth else None, rows=rows)


def test_a_line_has_the_values_by_frequency_with_errors_and_truth() -> None:
    line = marginals_line(marginals_of(COLLECTION), truth=TRUTH)
    assert line.startswith("1970-01-01T00:00:20Z/1970-01-01T00:00:30Z marginals final reports=20000 plausible=yes ")
    assert line.index("diet.meat=0.6") < line.index("diet.fish=0.") < line.index("diet.plants=0.")
    assert "(0.6000)" in line
    assert " age=" in line
    assert "(40.00)" in line


def test_a_panel_has_a_row_for_each_value_and_each_mean() -> None:
    text = shown()
    assert "diets · marginals" in text
    for word in ("meat", "fish", "plants", "mean", "truth", "0.6000", "epsilon 2.000 for ever"):
        assert word in text
    assert "truth" not in shown(truth=False)
    assert "and 2 more with" in shown(rows=1)


def test_the_share_of_users_with_none_of_the_candidates_is_shown() -> None:
    marginals = marginals_of(COLLECTION)
    diet = marginals.of("diet")
    assert isinstance(diet.estimate, Frequencies)
    with_others = diet.model_copy(update={"estimate": diet.estimate.model_copy(update={"others": 0.125})})
    assert "none of these: 0.1250" in shown_of(marginals.model_copy(update={"attributes": (with_others,)}))


def test_a_panel_says_what_readers_of_finals_could_learn() -> None:
    marginals = marginals_of(COLLECTION)
    published = Published(epsilon=0.1189, delta=1e-8, assumption="")
    known = marginals.model_copy(update={"privacy": marginals.privacy.model_copy(update={"published": published})})
    unknown = marginals.model_copy(update={"privacy": marginals.privacy.model_copy(update={"published": None})})
    line = published_line(published)
    assert (line in shown_of(known), line in shown_of(unknown)) == (True, False)


def test_outputs_from_which_no_frequencies_follow_are_shown_as_such() -> None:
    marginals = outputs_of()
    text = shown_of(marginals, {"level": (0.125,) * 8})
    assert "output 3" in text
    assert "from which no frequencies follow" in text
    assert " level.output-0=0." in marginals_line(marginals, truth={"level": (0.125,) * 8})


def test_what_nobody_answered_is_not_shown_as_0() -> None:
    rows = COLLECTION.questions.perturb(np.zeros(10, dtype=np.int64), users(10), entropy=SeededEntropy(3))
    marginals = solved(COLLECTION, (1.0, sums_of(COLLECTION, rows)))
    assert "nobody has answered" in shown_of(marginals)
    assert " age=" not in marginals_line(marginals)


def test_the_truth_of_a_window_is_a_line() -> None:
    tally = MarginalTally(COLLECTION, users(10))
    tally.add(users(10), time_ms=20_000)
    (line,) = marginal_truth_lines(tally.truth())
    assert " marginals truth reports=10 diet=" in line


def test_what_is_learnt_from_the_windows_before_is_shown_with_its_weight() -> None:
    text = shown_of(windows(collection_of(window=", returning: 0"), seed=1, count=3)[-1])
    assert "diet with the windows before, which weigh as much as " in text
    assert "age with the windows before" in text
    assert "windows before" not in shown()
