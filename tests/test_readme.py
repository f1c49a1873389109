"""These tests hold the README against the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import os
import re
import subprocess
import sys
from datetime import datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from stream_ldp.cli import app
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.cli.views.ranking_text import ranking_panel
from stream_ldp.collection import Collection
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import parse_collection
from stream_ldp.pipeline.answer import Plausibility, WindowBounds
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.metrics import Metrics
from stream_ldp.sets.answer import EpochPrivacy, HeavyHitter
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon
from tests.benchmarks.measured import shown
from tests.client.rankings import ranking_of
from tests.paths import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str = "") -> list[str]:
    """The fenced code of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [code for known, code in fenced if known == language]


def examples() -> dict[str, str]:
    """The collections that the README shows: its text by the name of its file."""
    survey, films = blocks(README, "yaml")
    return {"survey.yaml": survey, "films.yaml": films}


def example(name: str) -> Collection:
    return parse_collection(examples()[name], source="README.md")


def table(name: str) -> str:
    (found,) = re.findall(rf"<!-- {name}: .*? -->\n(.*?)<!-- /{name} -->", README, flags=re.DOTALL)
    return str(found)


def test_the_privacy_statement_has_the_mechanisms_own_numbers() -> None:
    collection = example("survey.yaml")
    assert isinstance(collection, JointCollection)
    rows = re.findall(r"^\| (\d+|all) reports?.*? \| ([\d.]+) \| ([\d.]+) \|$", table("privacy"), flags=re.MULTILINE)
    assert len(rows) == 5
    for reports, *stated in rows:
        seen = math.inf if reports == "all" else int(reports)
        for neighbours, epsilon in enumerate(map(float, stated), start=1):
            exact = collection.mechanism.epsilon(neighbours=neighbours, reports=seen)
            # Rounded up to the third decimal: a promise of privacy is never rounded down.
            assert exact <= epsilon < exact + 0.001, (reports, neighbours, exact)


def test_the_privacy_statement_of_sets_has_the_methods_own_numbers() -> None:
    collection = example("films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(r"^\| (\d+) epochs? \| ([\d.]+) \|$", table("privacy of sets"), flags=re.MULTILINE)
    assert len(rows) == 4
    for epochs, stated in rows:
        exact = int(epochs) * epoch_epsilon(collection.method)
        assert exact <= float(stated) < exact + 0.001


@pytest.mark.parametrize("name", ["survey.yaml", "films.yaml"])
def test_every_claim_of_the_examples_holds_when_audited_exactly(name: str) -> None:
    assert face_of(example(name)).audited(example(name)).enumerated().wrong == 0


def test_the_comparison_has_the_numbers_that_the_benchmarks_measured() -> None:
    rows = re.findall(r"^\| (\w[\w -]+) \| (.*) \|$", table("comparison"), flags=re.MULTILINE)
    assert len(rows) == 8
    for method, numbers in rows:
        ndcg = partial(shown, "ndcg", data="mushroom.txt.gz", method=method, k=10)
        f1 = partial(shown, "f1", data="zipf.txt.gz", method=method, k=32)
        measured = [ndcg(epsilon=1), ndcg(epsilon=3), f1(epsilon=2), f1(epsilon=4)]
        assert numbers.split(" | ") == measured, method


def test_the_picture_of_a_ranking_is_as_watch_draws_it() -> None:
    (picture,) = blocks(README, "text")
    collection = example("films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(r"^│ +\d+ +(\w+) +[█-▏]+ +([\d.]+) +([\d.]+) +([\d.]+) +│$", picture, flags=re.MULTILINE)
    items = [
        HeavyHitter(rank=rank, item=item, frequency=float(frequency), standard_error=float(error))
        for rank, (item, frequency, error, _) in enumerate(rows, start=1)
    ]
    (start,) = re.findall(r"─ (\S+)/\S+ ·", picture)
    start_ms = int(datetime.fromisoformat(start).timestamp() * 1000)
    (epoch,) = re.findall(r"epoch (\d+)", picture)
    assert collection.schedule.window_of(int(epoch), 3) == start_ms
    ranking = ranking_of(
        epoch=int(epoch),
        method=collection.method.name,
        phase=3,
        phases=3,
        window=WindowBounds(start_ms=start_ms, end_ms=start_ms + collection.window.size_ms),
        reports_per_phase=(7_983, 1_983, 10_034),
        plausibility=Plausibility(statistic=0.0, degrees_of_freedom=0, p_value=1.0, flagged=False),
        privacy=EpochPrivacy(
            per_epoch=epoch_epsilon(collection.method),
            phases=tuple(phase.epsilon for phase in collection.method.phases),
            assumption="any two sets of items; another epoch costs as much again",
        ),
    ).model_copy(update={"items": tuple(items)})
    truth = ItemTruth(
        collection="films",
        fingerprint=ranking.fingerprint,
        frequency={item: float(true) for item, _, _, true in rows},
    )
    console = Console(file=(file := StringIO()), width=110, color_system=None)
    console.print(ranking_panel(ranking, truth=truth))
    assert file.getvalue() == picture


def test_every_command_of_the_readme_exists() -> None:
    commands = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]
    shown = set(re.findall(r"stream-ldp ([a-z-]*[a-z])", README))
    assert shown
    assert shown <= set(commands)


def test_the_python_of_the_readme_imports_and_calls_only_what_exists() -> None:
    (code,) = blocks(README, "python")
    tree = ast.parse(code)
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            module = importlib.import_module(node.module)
            names |= {each.name: getattr(module, each.name) for each in node.names}
    called = {
        node.func.id: node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    for name in names.keys() & called.keys():
        node = called[name]
        inspect.signature(names[name]).bind(*node.args, **{str(each.arg): each.value for each in node.keywords})
    assert names.keys() & called.keys() >= {"Reporter", "ItemReporter", "Subscriber", "RankingSubscriber", "Terms"}


@pytest.mark.long
def test_the_quick_start_can_be_followed_and_ends_with_a_joint_and_a_ranking(
    settings: Settings, tmp_path: Path
) -> None:
    for name, text in examples().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    start = README.split("## From nothing")[1].split("## ")[0]
    commands = [line for block in blocks(start) for line in block.splitlines()]
    # The broker runs already.
    commands = commands[commands.index("stream-ldp broker &") + 1 :]
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STREAM_LDP_BROKERS": settings.brokers,
        "STREAM_LDP_TOPIC_PREFIX": settings.topic_prefix,
        "STREAM_LDP_ADMIN_PORT": "0",
    }
    script = "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *commands])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"bathing-mobility final reports=\d+ certified=yes", done.stdout), done.stdout
    # alien and brazil are far above the others; the third is one of three that are equal.
    result = re.search(r"phase=3/3 final .* found=([23])/3 alien=.* brazil=", done.stdout)
    assert result, done.stdout


def test_every_metric_of_the_readme_is_there_from_the_start() -> None:
    metrics = Metrics(["survey"])
    exposed = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    exposed |= {family.name for family in metrics.registry.collect()}
    shown = set(re.findall(r"`(stream_ldp_\w+)`", README))
    assert shown
    assert shown <= exposed
