"""These tests hold the README against the code."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import itertools
import math
import os
import re
import runpy
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from fractions import Fraction
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Self

import pytest
import typer
from rich.console import Console

import stream_ldp
from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.cli import app
from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.client import round_feed
from stream_ldp.client.item_reporter import ItemReporter
from stream_ldp.client.reporter import Reporter
from stream_ldp.collection import Collection
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.ledger.ledger import Spending
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import RRLDP
from stream_ldp.mechanisms.privacy_loss import shown_guess
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.mechanisms.shuffling import DELTA, shuffled_epsilon
from stream_ldp.pipeline.answer import Published, WindowBounds
from stream_ldp.pipeline.cells import CellKey
from stream_ldp.records.answer import Estimate
from stream_ldp.records.charges import charges
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import plan as plan_of_records
from stream_ldp.service.metrics import Metrics
from stream_ldp.sets.answer import EpochPrivacy, HeavyHitter, Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon, epochs_epsilon
from stream_ldp.sets.plan import plan
from stream_ldp.testing import kafka_in_memory
from tests.benchmarks.measured import shown
from tests.client.examples import collection_of, estimate_of
from tests.client.fakes import FakeBroker, followed
from tests.client.items import Timeline
from tests.client.rankings import ranking_of, result_of
from tests.paths import REPOSITORY

#: The mechanism of the survey, and the one that the README compares it with.
BITS = "{kind: k-rr, epsilon: 1}", "{kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}"

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str = "") -> list[str]:
    """The fenced code of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [code for known, code in fenced if known == language]


def examples() -> dict[str, str]:
    """The collections that the README shows: its text by the name of its file."""
    survey, films, daily, memoised = blocks(README, "yaml")
    return {
        "survey.yaml": survey,
        "films.yaml": films,
        "daily-films.yaml": daily,
        "memoised-films.yaml": memoised,
    }


def example(name: str) -> Collection:
    return parse_collection(examples()[name], source="README.md")


def table(name: str) -> str:
    (found,) = re.findall(rf"<!-- {name}: .*? -->\n(.*?)<!-- /{name} -->", README, flags=re.DOTALL)
    return str(found)


def test_the_privacy_statement_has_the_mechanisms_own_numbers() -> None:
    collection = example("survey.yaml")
    assert isinstance(collection, JointCollection)
    row = r"^\| (\d+|all) reports?.*? \| ([\d.]+) \| (.*?) \| ([\d.]+) \| (.*?) \|$"
    rows = re.findall(row, table("privacy"), flags=re.MULTILINE)
    assert len(rows) == 3
    for reports, *stated in rows:
        seen = math.inf if reports == "all" else int(reports)
        for neighbours, (epsilon, guess) in enumerate((stated[:2], stated[2:]), start=1):
            exact = collection.mechanism.epsilon(neighbours=neighbours, reports=seen)
            # Rounded up to the third decimal: a promise of privacy is never rounded down.
            assert exact <= float(epsilon) < exact + 0.001, (reports, neighbours, exact)
            assert guess == shown_guess(exact)


def test_the_example_has_parameters_for_which_we_would_stand() -> None:
    collection = example("survey.yaml")
    assert isinstance(collection, JointCollection)
    assert collection.mechanism.epsilon(neighbours=2, reports=math.inf) <= 2.0
    others = plan_of_records(collection).others
    assert others
    assert min(min(other.errors) for other in others) >= 1, "plan names no better mechanism"
    assert "nobody can tell" not in README


def test_the_privacy_statement_of_sets_has_the_methods_own_numbers() -> None:
    collection = example("daily-films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(r"^\| (\d+) epochs? \| ([\d.]+) \| (.*?) \|$", table("privacy of sets"), flags=re.MULTILINE)
    assert len(rows) == 4
    for epochs, stated, guess in rows:
        exact = int(epochs) * epoch_epsilon(collection.method)
        assert exact <= float(stated) < exact + 0.001
        assert guess == shown_guess(exact)


def test_the_privacy_statement_of_memoised_sets_has_the_methods_own_numbers() -> None:
    collection = example("memoised-films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(
        r"^\| (\d+|all) epochs?(?:, for ever)? \| (.*?) \| ([\d.]+) \| (.*?) \|$",
        table("privacy of memoised sets"),
        flags=re.MULTILINE,
    )
    assert len(rows) == 5
    for epochs, fresh, stated, guess in rows:
        count = math.inf if epochs == "all" else int(epochs)
        exact = epochs_epsilon(collection.method, epochs=count)
        assert exact <= float(stated) < exact + 0.001
        assert guess == shown_guess(exact)
        assert fresh == (epochs if epochs != "all" else "without a limit")
    (svim, loloha) = (
        plan(ItemCollection.model_validate({**collection.document, "mechanism": mechanism})).phases[-1].errors[2]
        for mechanism in (
            {"kind": "svim", "epsilon": 1, "k": 3, "set_size": 4},
            collection.document["mechanism"],
        )
    )
    assert svim.users == loloha.users == 100_000
    stated = f"is {svim.standard_error:.3f}, with `loloha` it is {loloha.standard_error:.3f}"
    assert stated in README.replace("\n", " ")


def loss_of_a_change(mechanism: RRLDP, *, reports: int) -> float:
    """Compute the most that reports tell a record that changes in the middle from one that stays the same, in nats.

    All attributes change. Given the records, bits are independent, and each half of the reports shows a permanent bit
    of its own; of a record that stays the same, both halves show the same one.
    """
    flip, (p, q), half = mechanism.flip, mechanism.response, reports // 2

    def shown(ones: int, permanent: int) -> float:
        one = q if permanent else p
        return one**ones * (1 - one) ** (half - ones)

    def drawn(permanent: int, true: int) -> float:
        return flip if permanent != true else 1 - flip

    def changed(first: int, second: int, ones: Sequence[int]) -> float:
        return math.prod(
            sum(drawn(bit, true) * shown(count, bit) for bit in (0, 1))
            for true, count in zip((first, second), ones, strict=True)
        )

    def constant(true: int, ones: Sequence[int]) -> float:
        return sum(drawn(bit, true) * shown(ones[0], bit) * shown(ones[1], bit) for bit in (0, 1))

    total = 0.0
    for size in mechanism.sizes:
        losses = []
        for value in range(size):
            ratios = [
                [
                    math.log(changed(bit == 0, bit == 1, ones) / constant(bit == value, ones))
                    for ones in itertools.product(range(half + 1), repeat=2)
                ]
                for bit in range(size)
            ]
            losses += [sum(max(each) for each in ratios), sum(-min(each) for each in ratios)]
        total += max(losses)
    return total


@pytest.mark.parametrize("reports", [2, 4])
def test_the_loss_of_a_change_is_the_one_that_is_enumerated(reports: int) -> None:
    mechanism = RRLDP(sizes=(2,), f=0.5, p=0.5, q=0.75)
    enumeration, half = Enumeration.realised(mechanism), reports // 2
    histories = [[(0,)] * half + [(1,)] * half, *([(value,)] * reports for value in (0, 1))]
    losses = [
        enumeration.histories_epsilon(*pair)
        for same in histories[1:]
        for pair in ((histories[0], same), (same, histories[0]))
    ]
    assert loss_of_a_change(mechanism, reports=reports) == pytest.approx(max(losses), abs=1e-9)


def test_the_price_of_a_change_and_what_it_shows_are_as_stated() -> None:
    collection = JointCollection.parse(examples()["survey.yaml"].replace(*BITS))
    assert isinstance(collection.mechanism, RRLDP)
    stated = r"it charges ([\d.]+\d), .* may gain ([\d.]+\d)"
    ((charged, shown),) = re.findall(stated, README.replace("\n", " "))
    records = [[0, 0]] * 15 + [[1, 1]] * 15
    spending = Spending().after(charges(collection, records, secret=bytes(32), tag_key=bytes(range(32))))
    assert spending.epsilon <= float(charged) < spending.epsilon + 0.001
    exact = loss_of_a_change(collection.mechanism, reports=30)
    assert exact <= float(shown) < exact + 0.001


@pytest.mark.parametrize("mechanism", ["{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 2}"])
@pytest.mark.parametrize("reports", [1, 2, 30])
def test_a_client_that_counts_as_the_specification_says_counts_what_the_ledger_does(
    mechanism: str, reports: int
) -> None:
    """The formulas of section 15, in its words."""
    collection = collection_of(mechanism=mechanism)
    counted = Fraction()
    for size in collection.sizes:
        if "k-rr" in mechanism:
            run = math.ceil(2**32 / (math.exp(2) + size - 1))
            counted += Fraction(math.log((2**32 - (size - 1) * run) / run))
            continue
        (t_f, t_p, t_q), t = collection.mechanism.meaning, reports
        h, p, q = t_f / 2**32, t_p / 2**32, t_q / 2**32
        k, u, d = 1 - h, (p / q) ** t, ((1 - q) / (1 - p)) ** t
        counted += Fraction(math.log((k + h * u) / (h + k * u)) + math.log((k + h * d) / (h + k * d)))
    spending = Spending().after(charges(collection, [[0, 1]] * reports, secret=bytes(32), tag_key=bytes(range(32))))
    assert float(counted) == pytest.approx(spending.epsilon, abs=1e-8)


@pytest.mark.parametrize("name", ["survey.yaml", "films.yaml", "daily-films.yaml"])
def test_every_claim_of_the_examples_holds_when_audited_exactly(name: str) -> None:
    assert not kind_of(example(name)).claims(example(name)).enumerated().disproved


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
        plausibility=None,
        privacy=EpochPrivacy(
            per_epoch=epoch_epsilon(collection.method),
            phases=tuple(phase.epsilon for phase in collection.method.phases),
            assumption="any two sets of items; another epoch costs as much again",
            published=Published.among(
                "7,983 + 1,983 + 10,034",
                epsilon=max(
                    shuffled_epsilon(3.0, reports=reports, delta=DELTA / 3) for reports in (7_983, 1_983, 10_034)
                ),
                delta=DELTA,
                once="once to each phase",
                hidden="any two sets of items; another epoch costs as much again",
            ),
        ),
    ).model_copy(update={"items": tuple(items)})
    truth: dict[CellKey, float] = {("", (item,)): float(true) for item, _, _, true in rows}
    console = Console(file=(file := StringIO()), width=110, color_system=None)
    console.print(AnswerText.of(ranking, truth=truth).panel())
    assert file.getvalue() == picture


def test_every_command_of_the_readme_exists() -> None:
    commands = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]
    shown = set(re.findall(r"stream-ldp ([a-z-]*[a-z])", README))
    assert shown
    assert shown <= set(commands)


def test_the_python_of_the_readme_imports_and_calls_only_what_exists() -> None:
    code, _ = blocks(README, "python")
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
    assert names.keys() & called.keys() >= {"Reporter", "ItemReporter", "Subscriber", "Terms"}


def test_what_readers_of_answers_could_learn_is_as_stated() -> None:
    (reports, local, stated) = re.findall(
        r"of ([\d,]+) reports at epsilon (\d) it is ([\d.]+\d), but for", README.replace("\n", " ")
    )[0]
    exact = shuffled_epsilon(float(local), reports=int(reports.replace(",", "")), delta=DELTA)
    assert exact <= float(stated) < exact + 0.001


def terms_of_the_application() -> Terms:
    """The terms of the user in the README's Python."""
    code, _ = blocks(README, "python")
    (budget,) = re.findall(r"terms=Terms\(budget=([\d.]+)\)", code)
    return Terms(budget=float(budget))


def test_the_budget_of_the_application_lasts_for_its_day_by_its_plan() -> None:
    survey, films = example("survey.yaml"), example("daily-films.yaml")
    assert isinstance(survey, JointCollection)
    assert isinstance(films, ItemCollection)
    planned = plan(films)
    assert planned.result_every_ms == 24 * 3_600_000
    for_ever = max(loss.epsilon for loss in plan_of_records(survey).privacy)
    left = terms_of_the_application().budget - for_ever
    (epoch, *_) = (spent.epsilon for spent in planned.privacy)
    assert left >= epoch, "a user who is asked on the first day is not stopped"
    assert left // epoch / planned.sample >= 30, "a month, on average"


async def test_the_application_runs_for_a_day_without_stopping(
    broker: FakeBroker, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_feed, "LOOK_MS", 60_000)
    survey, films = example("survey.yaml"), example("daily-films.yaml")
    assert isinstance(survey, JointCollection)
    assert isinstance(films, ItemCollection)
    broker.topics |= {f"stream-ldp.daily-films.{each}" for each in ("reports", "rounds")}
    hour_ms, settings = 3_600_000, Settings.load(brokers="nowhere:1")
    epoch = 20_000
    timeline.now_ms = begin_ms = films.schedule.window_of(epoch, 1)
    # A user whom the day's epoch asks: those whom it does not ask spend less.
    secrets = (number.to_bytes(32, "big") for number in range(1, 1_000))
    secret = next(
        each
        for each in secrets
        if films.method.phases[0].asks(partition_words([each], fingerprint=films.fingerprint, epoch=epoch))[0]
    )
    ledger = PrivacyLedger.in_memory(secret=secret, terms=terms_of_the_application())
    user: dict[str, Any] = {"settings": settings, "secret": secret, "ledger": ledger, "clock": timeline}
    async with Reporter(survey, **user) as records, ItemReporter(films, **user) as sets:
        await sets.hold({"alien", "brazil"})
        for hour in range(1, 25):
            await timeline.reach(begin_ms + hour * hour_ms)
            await records.report({"bathing": "no", "mobility": "some"})
            await sets.hold({"alien", "brazil"})  # it would raise what has ended reporting
    assert records.acknowledged == 24
    assert sets.acknowledged == 1
    assert ledger.spending.epsilon == pytest.approx(survey.mechanism.epsilon(reports=24) + 1.0)


class Enough(Exception):
    """The application has come to where it would go on for ever."""


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> None:
    """Give each subscriber of an application one answer; once both have come, and its report, end it."""
    reached: set[str] = set()

    class Answered:
        def __init__(self, collection: str, answers: type[Any], **options: Any) -> None:
            self._collection = collection

        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(self, *_: object) -> None:
            return

        async def __aiter__(self) -> AsyncIterator[Estimate | Ranking]:
            yield estimate_of() if self._collection == "care-survey" else result_of(7)
            reached.add(self._collection)
            while len(reached) < 2 or not broker.sent:
                await asyncio.sleep(0.001)
            reached.clear()
            raise Enough

    monkeypatch.setattr(stream_ldp, "Subscriber", Answered, raising=False)


@pytest.mark.usefixtures("answered")
def test_the_python_of_the_readme_runs_as_a_file_once_and_again_and_reaches_its_loops(
    broker: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.topics |= {f"stream-ldp.daily-films.{each}" for each in ("reports", "rounds")}
    code, _ = blocks(README, "python")
    file = tmp_path / "app.py"
    file.write_text(code, encoding="utf-8")
    for name, text in examples().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for _ in range(2):
        broker.sent.clear()
        followed(Timeline(now_ms=0), monkeypatch, broker)
        with pytest.raises(ExceptionGroup) as ended:
            runpy.run_path(str(file), run_name="__main__")
        assert ended.value.split(Enough)[1] is None, "nothing else has ended it"
        assert [topic for topic, _ in broker.sent] == ["stream-ldp.care-survey.reports"]
        shown = capsys.readouterr().out
        assert "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z 12345 " in shown
        assert re.search(r"^7 \[\(", shown, flags=re.MULTILINE)


def test_the_backend_of_the_readme_reports_for_its_users_once_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, code = blocks(README, "python")
    (tmp_path / "survey.yaml").write_text(examples()["survey.yaml"], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    records = {"ada": {"bathing": "no", "mobility": "some"}, "bob": {"bathing": "yes", "mobility": "full"}}
    changed = records | {"bob": {"bathing": "no", "mobility": "full"}}
    with kafka_in_memory(example("survey.yaml")) as kafka:
        for given, reported in ((records, 2), (changed, 1)):
            names: dict[str, Any] = {}
            exec(code, names)
            assert names["report_for"](given, tmp_path / "users", kafka.settings) == reported
        assert kafka.reports("care-survey") == 3
    assert capsys.readouterr().out.startswith("user 1: ")


#: Seconds for which the application is watched: a window, its idle timeout and its grace have passed.
WATCHED_SECONDS = 30


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_the_readme_shows_can_be_followed_in_order_and_twice(settings: Settings, tmp_path: Path) -> None:
    code, _ = blocks(README, "python")
    for name, text in (examples() | {"app.py": code}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [line for block in blocks(README) for line in block.splitlines()]
    # The broker runs already.
    commands = commands[commands.index("stream-ldp broker &") + 1 :]
    application = commands.index("python app.py")
    # Nobody is there to press Ctrl-C. 124 says that it was still running.
    commands[application] = f"timeout --signal=INT {WATCHED_SECONDS} python app.py || [ $? = 124 ]"
    environment = os.environ | {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STREAM_LDP_BROKERS": settings.brokers,
        "STREAM_LDP_TOPIC_PREFIX": settings.topic_prefix,
        "STREAM_LDP_ADMIN_PORT": "0",
    }
    script = "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *commands])
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=290,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"bathing-mobility final reports=\d+ certified=yes", done.stdout), done.stdout
        # alien and brazil are far above the others; the third is one of three that are equal.
        result = re.search(r"phase=3/3 final .* found=([23])/3 alien=.* brazil=", done.stdout)
        assert result, done.stdout
        # The application: the window of its own report.
        assert re.search(r"^\S+Z/\S+Z 1 ", done.stdout, flags=re.MULTILINE), done.stdout


def test_every_metric_of_the_readme_is_there_from_the_start() -> None:
    metrics = Metrics(["survey"])
    exposed = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    exposed |= {family.name for family in metrics.registry.collect()}
    shown = set(re.findall(r"`(stream_ldp_\w+)`", README))
    assert shown
    assert shown <= exposed
