"""docs/papers.md and its plots are what was measured, and all that they name exists; the command itself runs."""

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.evaluate.cases import Ways
from stream_ldp.evaluation.experiment import Experiment
from stream_ldp.mechanisms import Support
from stream_ldp.records.estimators import estimator
from stream_ldp.records.estimators.lasso import paper_lasso
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import EVALUATION as SETS
from stream_ldp.sets.item_sets import ItemSets
from tests.benchmarks.papers import chu_long_liu, page, plain, ye_meng_zhu_huo, zhu_yang_bai
from tests.benchmarks.papers.__main__ import main, measure
from tests.benchmarks.papers.algorithms import ALGORITHMS
from tests.benchmarks.papers.figure import Drawn, Figure, Panel, Point, Results, line, shown
from tests.benchmarks.papers.papers import PAPERS
from tests.benchmarks.papers.stored import load, store
from tests.benchmarks.papers.study import USERS, Study
from tests.paths import REPOSITORY
from tests.records.estimators.examples import draw

STORED = load()
RESULTS = {name: each.rows for name, each in STORED.items()}
FIGURES = [figure for paper in PAPERS for figure in paper.figures]
TESTS = REPOSITORY / "tests"


def test_the_page_shows_what_was_measured() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(STORED)


def test_every_study_was_measured_and_every_figure_is_made_of_studies() -> None:
    studies = {study.name for paper in PAPERS for study in paper.studies}
    assert set(STORED) == studies == {name for figure in FIGURES for name in figure.studies}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_plot_names_all_that_its_figure_has(figure: Figure) -> None:
    panels = figure.panels(RESULTS)
    if not panels:
        return
    text = (page.IMAGES / f"{figure.name}.svg").read_text(encoding="utf-8")
    assert f'aria-label="{figure.title}"' in text
    assert "prefers-color-scheme:dark" in text
    assert "currentColor" in text
    for panel in panels:
        assert f">{panel.title}<" in text
        for each in panel.lines:
            assert f">{each.name}<" in text
            assert each.points, (panel.title, each.name)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.name)
def test_an_algorithm_has_a_module_a_test_and_a_figure(algorithm: Any) -> None:
    assert (REPOSITORY / "stream_ldp" / algorithm.module).exists()
    assert _is_a_test(algorithm.test)
    assert _is_shown(algorithm.figure)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_claims_and_slips_are_shown_by_what_they_name(paper: Any) -> None:
    for claim in paper.claims:
        assert claim.verdict(RESULTS)
        assert _is_shown(claim.figure), claim.says
    for slip in paper.slips:
        assert _is_a_test(slip.test), slip.test


def _is_a_test(named: str) -> bool:
    file, _, name = named.partition("::")
    return (TESTS / file).exists() and f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


def _is_shown(figure: str) -> bool:
    named = {each.name for each in FIGURES} | {f"{paper.key}-slips" for paper in PAPERS}
    return figure in named or (figure.endswith(".md") and (page.PAGE.parent / figure).exists())


def test_the_papers_algorithm_row_by_row_finds_what_the_published_form_does() -> None:
    """Times are of the first, distances are those of the second by `stream-ldp evaluate`."""
    sizes = (2, 2, 2, 2, 2)
    truth = np.random.default_rng(1).dirichlet(np.full(32, 0.3)).reshape(sizes)
    counts, support = draw(truth, 500, f=0.1, seed=1)
    bits = np.repeat(counts.unpacked(), counts.counts.astype(int), axis=0).astype(bool)
    start = paper_lasso(counts, sizes=sizes, supports=[support] * 5)
    assert (start == 0).any()
    for method, begun in (("em", np.full(sizes, 1 / 32)), ("lremh", start)):
        by_row = plain.em_by_row(bits, sizes, [support] * 5, start=begun, delta=0.001)
        solved = estimator(method, stop="paper", delta=0.001).estimate(counts, sizes=sizes, supports=[support] * 5)
        np.testing.assert_allclose(by_row, solved.joint, atol=1e-12)


def test_an_answer_that_takes_too_long_is_drawn_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "_KEPT", 0)
    monkeypatch.setattr(plain, "_AT_ONCE", 4)
    steps: list[int] = []

    def check() -> None:
        steps.append(1)
        if len(steps) > 3:
            raise plain.TooLongError

    with pytest.raises(plain.TooLongError):
        plain.em_by_row(
            np.ones((9, 2), dtype=bool),
            (2,),
            [Support.of_bits(one=0.7, zero=0.4)],
            start=np.full(2, 0.5),
            delta=0.1,
            check=check,
        )
    assert shown(Point(1, plain.LIMIT_S, 0.0, over=True)) == "> 10"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    first = rng.integers(2, size=200)
    rows = np.stack([first, np.where(rng.random(200) < 0.9, first, 1 - first)], axis=1).tolist()
    with gzip.open(tmp_path / "nltcs.csv.gz", "wt", encoding="utf-8") as file:
        file.write("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
    with gzip.open(tmp_path / "mushroom.txt.gz", "wt", encoding="utf-8") as file:
        file.write("".join(f"{a} {a + b + 2} 7\n" for a, b in rows))
    return tmp_path


def test_studies_of_a_few_users_run_from_data_to_tables_and_plot(directory: Path) -> None:
    joints = replace(
        chu_long_liu.NLTCS,
        vary=("mechanism.f", (0.5,)),
        users=100,
        ways=Ways(numbers=(2,), sets=1, most_cells=10, seed=0),
    )
    items = replace(
        next(each for each in zhu_yang_bai.STUDIES if each.name == "mushroom-by-k"), vary=("mechanism.k", (1, 2))
    )
    for study, series in ((joints, "2-way"), (items, "heavy-hitters")):
        rows = study.rows(directory, repeats=2)
        store(study.name, rows, cpu_s=0.1, results=directory / "results")
        assert {row["form"] for row in rows} == set(study.forms)
        assert {row["series"] for row in rows} == {series}
        assert {row["repeats"] for row in rows} == {2}
    found = {name: each.rows for name, each in load(directory / "results").items()}
    from tests.benchmarks.papers.plots import svg  # noqa: PLC0415  it takes a second to import

    panel = _panel(found)
    assert all(point.deviation > 0.0 for each in panel.lines for point in each.points)
    assert ">tiny<" in svg([panel], title="a tiny figure")


def _panel(results: Results) -> Panel:
    lines = tuple(
        line(results["nltcs"], form=form, metric="avd", drawn=Drawn(form, colour, "published"))
        for colour, form in enumerate(("EM as published", "EM as shipped"))
    )
    return Panel(title="tiny", x="f", y="AVD", lines=lines)


def test_distances_are_those_that_the_shown_command_prints(directory: Path) -> None:
    """The published form by row has the distance of `stop: paper`, whose command is on the page."""
    small: dict[str, Any] = {
        "vary": ("mechanism.f", (0.3,)),
        "users": 100,
        "ways": Ways(numbers=(2,), sets=1, most_cells=10, seed=0),
    }
    forms = {name: form for name, form in chu_long_liu.NLTCS.forms.items() if name == "LREMH as published"}
    by_row = replace(chu_long_liu.NLTCS, forms=forms, **small)
    solved = replace(by_row, forms={name: replace(form, measure=None) for name, form in forms.items()})
    (first,), (second,) = by_row.rows(directory, repeats=2), solved.rows(directory, repeats=2)
    assert first["avd"] == second["avd"]
    words = by_row.command("LREMH as published")
    assert words.startswith("stream-ldp evaluate --data nltcs.csv.gz --collection '")
    assert "--vary estimates.0.method=lremh --vary estimates.0.stop=paper --vary mechanism.f=0.3" in words
    assert words.endswith("--ways 2 --sets 1 --most-cells 10 --users 100 --repeats 10")


@pytest.mark.parametrize(
    ("name", "form", "few", "answers", "metric", "parts"),
    [
        ("strings-by-users", "as shipped", ye_meng_zhu_huo.falling(400), 50, "raw_avd", 2),
        ("means-by-users", "Harmony-Mean as published", ye_meng_zhu_huo.numbers(4_000), 80, "raw_error", 80),
    ],
    ids=["strings", "means"],
)
def test_generated_users_are_measured_answer_by_answer(
    name: str, form: str, few: Any, answers: int, metric: str, parts: int
) -> None:
    study = next(each for each in ye_meng_zhu_huo.STUDIES if each.name == name)
    assert isinstance(study, Study)
    forms = {form: study.forms[form]}
    small = replace(study, generated=lambda: few, vary=(USERS, (len(few),)), forms=forms)
    *each, together = small.rows(Path(), repeats=1)
    assert len(each) == answers
    off = sum(abs(row["raw"] - row["truth"]) for row in each) / parts
    assert together[metric] == pytest.approx(off, rel=1e-2)


def test_the_stand_in_has_the_shape_of_the_census() -> None:
    sets = zhu_yang_bai.census(users=500)
    assert set(sets.sizes.tolist()) == {68}
    assert sets.items.max() < 396
    assert (sets.items == zhu_yang_bai.census(users=500).items).all()


def test_data_that_are_absent_are_named_and_their_figures_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (figure,) = (each for each in FIGURES if each.name == "joints-1")
    measure([figure], tmp_path, repeats=1)
    assert capsys.readouterr().out == f"nltcs (joints-1) skipped: nltcs.csv.gz is not in {tmp_path.name}\n"


def test_the_list_has_a_line_for_each_figure_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert [each.split()[0] for each in lines] == [figure.name for figure in FIGURES]
    assert all(re.search(r"\(\d+ s\)$", each) for each in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name the DIRECTORY of the data"),
        (["nowhere"], "nowhere is no directory"),
        ([".", "--repeats", "0"], "--repeats: at least 1"),
        ([".", "--only", "joints-9"], "invalid choice: 'joints-9'"),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("k", [2, 6])
def test_items_outside_of_the_finalists_have_the_estimate_of_an_earlier_phase_as_published(k: int) -> None:
    """With all six items as finalists, the relative error is that of the product."""
    sets = ItemSets.of([{0, 1}, {0, 2}, {1, 5}] * 40)
    collection = ItemCollection.model_validate(
        {
            "collection": "few",
            "mechanism": {"kind": "gfim", "epsilon": 1, "k": k, "k_max": k, "set_size": 2, "hash_bits": 1}
            | {"combine": "paper"},
            "items": {"size": 6},
            "window": {"size": "1m"},
        }
    )
    experiment = Experiment(
        collection=collection,
        population=sets,
        users=120,
        measure=zhu_yang_bai.measure_as_published,
        clock=lambda: 0.0,
        taken=SETS.taken,
    )
    published = [each.metrics for (each,) in experiment.repeats(8, seed=0)]
    shipped = [each.metrics for (each,) in replace(experiment, measure=SETS.measure).repeats(8, seed=0)]
    assert [{**each, "re_all": 0} for each in shipped] == [{**each, "re_all": 0} for each in published]
    assert all((each["re"] == each["re_all"]) for each in published) == (k == 6)
