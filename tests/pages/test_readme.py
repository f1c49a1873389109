"""These tests hold the README against the code."""

import math
import re
from functools import partial
from pathlib import Path

import pytest
import typer

from stream_ldp.cli import app
from stream_ldp.kinds import KINDS, kind_of
from stream_ldp.pipeline.predicted import predicted
from stream_ldp.records.collection import JointCollection
from tests.benchmarks.measured import shown
from tests.pages.page import blocks, example, examples, table, text_of
from tests.paths import REPOSITORY

README = "README.md"


PAGES = ("README.md", *sorted(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*.md")))


def test_every_command_that_a_page_shows_exists() -> None:
    commands = set(typer.main.get_command(app).list_commands(None))  # type: ignore[attr-defined]
    for page in PAGES:
        shown = re.findall(r"(?:^|`|\| )stream-ldp ([a-z-]*[a-z])", text_of(page), flags=re.MULTILINE)
        assert set(shown) <= commands, page


def test_the_example_has_parameters_for_which_we_would_stand() -> None:
    collection = example("survey.yaml")
    assert isinstance(collection, JointCollection)
    assert collection.mechanism.epsilon(neighbours=2, reports=math.inf) <= 2.0
    others = predicted(collection, KINDS["records"], users=[10_000]).alternatives
    assert others
    assert min(min(other.errors.values()) for other in others) >= 1, "plan names no better mechanism"


@pytest.mark.parametrize("name", ["survey.yaml", "films.yaml", "daily-films.yaml"])
def test_every_claim_of_the_examples_holds_when_audited_exactly(name: str) -> None:
    assert not kind_of(example(name)).claims(example(name)).enumerated().disproved


def test_the_collection_of_the_readme_is_that_of_the_tutorial() -> None:
    assert blocks(README, "yaml") == [examples()["survey.yaml"]]


def test_the_first_program_prints_a_table_like_the_one_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The intervals hold the truth, and the picture, but for a chance of 1 in 10,000: they are widened to that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.yaml").write_text(examples()["survey.yaml"], encoding="utf-8")
    (program,), (picture, _drawing) = blocks(README, "python"), blocks(README, "text")
    exec(compile(program, "hello.py", "exec"), {})
    printed = capsys.readouterr().out
    truth = [5 / 7, 2 / 7, 0.0, 0.0, 1 / 3, 2 / 3]
    for text in (printed, picture):
        head, *rows = text.splitlines()
        assert head.split() == ["bathing", "mobility", "probability", "95", "%", "interval"]
        for row, true in zip(rows, truth, strict=True):
            probability, low, high = map(float, re.findall(r"\d\.\d+", row))
            assert low <= probability <= high
            assert abs(probability - true) <= 2.5 * max(high - probability, probability - low), row


def test_the_numbers_of_accuracy_and_speed_are_those_of_their_pages() -> None:
    _, _, *rows = filter(None, table(README, "measured").splitlines())
    joint, sets, worker, report = ([cell.strip() for cell in row.strip("|").split("|")][1:] for row in rows)
    single = r"^\| NLTCS, 2, f = 0.5 \| ([\d.]+) \| ([\d.]+) "
    ours, em = re.findall(single, text_of("docs/accuracy.md"), flags=re.MULTILINE)[0]
    assert joint == [ours, f"{em}, EM as published"]
    ndcg = partial(shown, "ndcg", data="mushroom.txt.gz", k=10, epsilon=1)
    assert sets == [ndcg(method="gfim-users"), f"{ndcg(method='gfim as published')}, GFIM as published"]
    speed = text_of("tests/benchmarks/README.md")
    drained = r"drains batches of 50, 5 pairs, proc.*? time \|  \|  \| (.*? us) a batch \| bare .*? getmany (.*? us) "
    ((ours_a_batch, fetched),) = re.findall(drained, speed)
    assert worker == [ours_a_batch, f"{fetched}, aiokafka that only fetches"]
    assert f"| {report[0]} a report |" in speed


def test_the_readme_is_short() -> None:
    """At most 180 lines, and sentences of at most 18 words on average."""
    assert len(text_of(README).splitlines()) <= 180
    prose = re.sub(r"^```.*?^```$|^\|.*?$|^#.*?$|<!--.*?-->", "", text_of(README), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    sentences = [words for each in re.split(r"[.:?](?:\s|$)", prose) if len(words := each.split()) > 2]
    assert sum(map(len, sentences)) / len(sentences) <= 18
