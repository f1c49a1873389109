"""The examples run: programs as they stand, notebooks from the first cell to the last, where a loop is running."""

import json
import re
import runpy
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from aiohttp import web
from confluent_kafka import Producer

from stream_ldp import Reporter, Subscriber, SyncReporter, load_collection
from stream_ldp.client.reporter import now_ms
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.kafka.embedded.mock import EmbeddedMock
from stream_ldp.testing import kafka_in_memory
from tests.chromium import chromium, needs_chromium
from tests.client.examples import estimate_of
from tests.listening import listening, site
from tests.notebooks import NOTEBOOKS, run
from tests.paths import REPOSITORY

EXAMPLES = REPOSITORY / "examples"


class Enough(Exception):
    """An example that runs for ever has shown what it is for."""


#: A number, however many digits and blanks a table gives it.
NUMBER = re.compile(r" *-?\d+\.\d+")

#: What each program prints about simulated users: texts, each of which stands before a number near another.
PRINTED = {
    "records.py": {r"yes +fair": 2 / 3},
    "marginals.py": {r"meat": 0.6, r"fish": 0.1},
    "views.py": {r"no +good": 1.0},
    "places.py": {r"rome": 12_000.0},
    "item_sets.py": {r"alien": 0.8},
    "itemsets.py": {r"bread \+ butter": 0.5},
    "pairs.py": {r"frequency +search": 1.0, r"mean +maps": 12.0},
    "strings.py": {r"yeet": 0.4, r"rizz": 0.3},
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_make(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept, made = (json.loads(path.read_text(encoding="utf-8")) for _ in range(2))
    names = run(made, name=path.name)
    for before, now in zip(kept["cells"], made["cells"], strict=True):
        assert len(before.get("outputs", [])) == len(now.get("outputs", [])), "run python -m tests.notebooks"
        for one, other in zip(before.get("outputs", []), now.get("outputs", []), strict=True):
            assert one["data"].keys() == other["data"].keys()
            told, again = ("".join(each["data"]["text/plain"]) for each in (one, other))
            # The last digits are those of a machine.
            assert NUMBER.sub("0", told) == NUMBER.sub("0", again)
            assert numbers(told) == pytest.approx(numbers(again), rel=1e-3, abs=2e-3)
    # Of 12 cells with intervals of 95 %, fewer than 8 are right in 1 of 5,000 runs; the seeds are fixed.
    assert names["inside"] >= 8 / 12
    assert len(names["answers"]) == 4
    assert pd.read_parquet(tmp_path / "answers.parquet").shape[0] == 48


def numbers(text: str) -> list[float]:
    return [float(each) for each in NUMBER.findall(text)]


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("name", PRINTED)
def test_a_program_without_a_broker_prints_what_its_users_are_like(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The noise is the system's; each number is more than 6 standard errors from a quarter off."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for text, truth in PRINTED[name].items():
        (number,) = re.findall(rf"^{text} +([\d.,]+) ", printed, flags=re.MULTILINE)
        assert float(number.replace(",", "")) == pytest.approx(truth, rel=0.25)


def test_the_script_reports_an_answer_again_and_refuses_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    monkeypatch.setenv("HOME", str(tmp_path))
    with kafka_in_memory(load_collection(EXAMPLES / "survey.yaml")) as kafka:
        main = runpy.run_path(str(EXAMPLES / "script.py"))["main"]
        for answer in (("no", "some"), ("no", "some"), ("yes", "some")):
            main(*answer)
        assert kafka.reports("care-survey") == 2
    first, again, refused, cure = capsys.readouterr().out.splitlines()
    assert "Cost: 2.000 nats" in first
    assert "Cost: 0.000 nats" in again
    assert refused.endswith("nothing was sent")
    assert cure.startswith("  -> if this user's values change: ")


def test_the_alert_names_a_share_whose_interval_is_above_the_limit() -> None:
    above = runpy.run_path(str(EXAMPLES / "alert.py"))["above"]
    high = estimate_of(probability=[[0.3, 0.2, 0.1], [0.1, 0.0, 0.3]])
    assert re.search(r"38\.6% to 41\.4% need full help, more than 30%", above(high) or "")
    unsure = high.model_copy(update={"standard_error": tuple((0.05,) * 3 for _ in range(2)), "effects": None})
    assert above(unsure) is None


def test_the_alert_prints_a_line_for_a_window_above_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    survey = load_collection(EXAMPLES / "survey.yaml")
    main = runpy.run_path(str(EXAMPLES / "alert.py"))["main"]
    main.__globals__["Subscriber"] = partial(Subscriber, from_beginning=True, follow=False)
    with kafka_in_memory(survey) as kafka:
        with SyncReporter(Reporter(survey, settings=kafka.settings, clock=kafka.clock)) as reporter:
            reporter.report_many([{"bathing": "yes", "mobility": "full"}] * 2_000, secrets=None)
        kafka.close_windows()
        main()
    assert capsys.readouterr().out.endswith("need full help, more than 30%\n")


def test_another_library_reads_final_answers(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLES / "consumer.py"))["main"]
    consumed = main.__globals__
    with EmbeddedMock() as broker:
        broker.touch([consumed["TOPIC"]])
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for estimate in (estimate_of(final=False), estimate_of(final=True)):
            producer.produce(consumed["TOPIC"], estimate.to_bytes())
        producer.flush(30)
        consumed["print"] = lambda *shown, **_: (_ for _ in ()).throw(Enough(shown))
        with pytest.raises(Enough) as enough:
            main(broker.bootstrap)
    _, reports, probability = enough.value.args[0]
    assert reports == 12_345
    assert sum(probability) == pytest.approx(1)


async def test_the_backend_reports_within_each_users_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient  # noqa: PLC0415  it takes a second to import

    monkeypatch.setenv("HOME", str(tmp_path))
    with kafka_in_memory(load_collection(EXAMPLES / "survey.yaml")) as kafka:
        app = runpy.run_path(str(EXAMPLES / "backend.py"))["app"]
        with TestClient(app) as client:
            given = {"bathing": "no", "mobility": "some"}
            assert client.post("/answers/ada", json=given).json() == {"spent": pytest.approx(2.0)}
            assert client.post("/answers/bob", json=given).status_code == 200
            changed = client.post("/answers/ada", json={**given, "bathing": "yes"})
            assert changed.status_code == 403
            assert client.post("/answers/ada", json={"bathing": "perhaps"}).status_code == 422
            assert client.post("/answers/..%2Fada", json=given).status_code in {404, 422}
        assert kafka.reports("care-survey") == 2


@needs_chromium
async def test_the_page_reports_through_the_gateway_and_shows_the_receipt() -> None:
    survey = load_collection(EXAMPLES / "survey.yaml")
    pages = web.Application()
    pages.router.add_static("/", REPOSITORY)
    text = (EXAMPLES / "survey.yaml").read_text(encoding="utf-8")
    with kafka_in_memory(survey) as kafka:
        async with site(pages) as page_url, chromium() as browser:
            door = Door(limiter=Limiter(rate=1_000, burst=1_000), origins=frozenset({page_url}))
            served = Gateway(
                [Source(collection=survey, text=text)], settings=kafka.settings, door=door, now_ms=now_ms
            )
            async with listening(served) as url:
                page = await browser.new_page()
                await page.goto(f"{page_url}/examples/browser/index.html?gateway={url}")
                await page.wait_for_selector("body[data-ready=yes]")
                await page.select_option("[name=mobility]", "full")
                await page.click("button")
                await page.wait_for_function("document.querySelector('output').textContent")
                shown = await page.text_content("output")
        assert "2.000 nats" in (shown or ""), shown
        assert kafka.reports("care-survey") == 1


def test_each_example_is_short_and_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.rglob("*.*"):
        if path.suffix in {".py", ".html", ".ipynb"}:
            assert f"({path.relative_to(EXAMPLES)})" in listed, path
        if path.suffix in {".py", ".html"}:
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 60, path
