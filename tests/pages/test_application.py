"""docs/tutorial/application.md has programs that run."""

import ast
import asyncio
import importlib
import inspect
import re
import runpy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest

import stream_ldp
from stream_ldp.client import round_feed
from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import plan as plan_of_records
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.plan import plan
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import estimate_of
from tests.client.fakes import FakeBroker, followed
from tests.client.items import Timeline
from tests.client.rankings import result_of
from tests.pages.page import blocks, example, examples

PAGE = "docs/tutorial/application.md"


def test_the_application_imports_and_calls_only_what_exists() -> None:
    code, _ = blocks(PAGE, "python")
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
    assert names.keys() & called.keys() >= {"Reporter", "Subscriber", "Terms"}


def terms_of_the_application() -> Terms:
    """The terms of the user in the page."""
    code, _ = blocks(PAGE, "python")
    (budget,) = re.findall(r"terms=Terms\(budget=([\d.]+)\)", code)
    return Terms(budget=float(budget))


def test_the_budget_of_the_application_lasts_for_its_day_by_its_plan() -> None:
    survey, films = example("survey.yaml"), example("daily-films.yaml")
    assert isinstance(survey, JointCollection)
    assert isinstance(films, ItemCollection)
    planned = plan(films)
    assert planned.result_every_ms == 24 * 3_600_000
    lifetime = max(loss.epsilon for loss in plan_of_records(survey).privacy)
    left = terms_of_the_application().budget - lifetime
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
    async with Reporter(survey, **user) as records, Reporter(films, **user) as sets:
        await sets.report({"alien", "brazil"})
        for hour in range(1, 25):
            await timeline.reach(begin_ms + hour * hour_ms)
            await records.report({"bathing": "no", "mobility": "some"})
            await sets.report({"alien", "brazil"})  # it would raise what has ended reporting
    assert records.acknowledged == 24
    assert sets.acknowledged == 1
    assert ledger.spending.epsilon == pytest.approx(survey.mechanism.epsilon(reports=24) + 1.0)


class Enough(Exception):
    """The application has come to where it would go on forever."""


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
def test_the_application_runs_as_a_file_once_and_again_and_reaches_its_loops(
    broker: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.topics |= {f"stream-ldp.daily-films.{each}" for each in ("reports", "rounds")}
    code, _ = blocks(PAGE, "python")
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
        assert "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z\nmobility  probability  95 % interval\n" in shown
        assert re.search(r"^7 \[\(", shown, flags=re.MULTILINE)


def test_the_backend_reports_for_its_users_once_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, code = blocks(PAGE, "python")
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
