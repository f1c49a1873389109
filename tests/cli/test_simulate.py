"""`stream-ldp simulate`: what is played of records and of sets, what is refused, and what is said."""

import asyncio
import gzip
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from aiokafka.errors import MessageSizeTooLargeError
from numpy.typing import NDArray
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.cli.simulate import refusals_shown, simulate
from stream_ldp.cli.simulation.truth import Truth, Users
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import load_collection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.windows import pane_of, windows_of
from stream_ldp.quantity import quantity
from stream_ldp.records.collection import JointCollection
from stream_ldp.testing import kafka_in_memory
from tests.cli.films import QUICK, data_file, report_counts
from tests.client.examples import MINUTE_MS, collection_of, write_survey
from tests.client.fakes import FakeBroker
from tests.client.items import films
from tests.client.test_on_kafka import batches_of, create_topics
from tests.in_memory import START_MS

Run = Callable[..., Result]

#: Noise that inverts one bit in 4 billion: reports are their records, and show what was really sent.
NOISELESS = "{kind: rr-ldp, f: 0.0000000005}"

PEOPLE = ["no,none,17", "no,some,20", "no,some,21", "yes,full,80", "yes,some,55"]


def table(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["bathing,mobility,age", *(rows or PEOPLE)]) + "\n", encoding="utf-8")
    return path


def joint_of(rows: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Compute the joint of `bathing` and `mobility` in noiseless reports."""
    bits = np.unpackbits(rows, axis=1, count=5, bitorder="little")
    assert (bits[:, :2].sum(axis=1) == 1).all()
    assert (bits[:, 2:].sum(axis=1) == 1).all()
    cells = 3 * bits[:, :2].argmax(axis=1) + bits[:, 2:].argmax(axis=1)
    return np.bincount(cells, minlength=6).reshape(2, 3) / len(rows)


def windows_sent(sent: wire.Decoded, collection: JointCollection) -> dict[int, NDArray[np.uint8]]:
    """Collect the reports of every window, by its start."""
    found: dict[int, list[NDArray[np.uint8]]] = {}
    ends = np.cumsum(sent.counts)
    for time_ms, end, count in zip(sent.time_ms.tolist(), ends.tolist(), sent.counts.tolist(), strict=True):
        for start in windows_of(pane_of(time_ms, collection.window), collection.window):
            found.setdefault(start, []).append(sent.rows[0][end - count : end])
    return {start: np.concatenate(parts) for start, parts in found.items()}


MOBILITY = ("none", "some", "full")


def array_of(users: Users) -> NDArray[np.float64]:
    """Return the joint distribution of some users, shape (2, 3)."""
    numbers = users.numbers("bathing-mobility")
    return np.array([[numbers.get(("", (one, other)), 0.0) for other in MOBILITY] for one in ("no", "yes")])


@pytest.mark.parametrize("window", ["grace: 5s", "hop: 20s"], ids=["tumbling", "sliding"])
def test_the_truth_describes_exactly_what_was_sent(
    broker: FakeBroker, command_line: Run, tmp_path: Path, window: str
) -> None:
    changes = {"window": window, "mechanism": NOISELESS}
    collection = collection_of(**changes)
    survey = write_survey(tmp_path / "survey.yaml", **changes)
    truth_file = tmp_path / "truth.json"
    result = command_line(
        simulate, survey, "--data", table(tmp_path), "--users", 12_345, "--windows", 4, "--truth", truth_file
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("12,345 reports of as many simulated users")

    sent = broker.decoded(collection)
    assert sent.counts.sum() == 12_345
    assert sent.time_ms.max() < pane_of(now_ms(), collection.window), "past windows only"
    truth = Truth.load(truth_file)
    assert array_of(truth.population).tolist() == [[0.2, 0.4, 0.0], [0.0, 0.2, 0.2]]
    by_window = windows_sent(sent, collection)
    assert [each.window.start_ms for each in truth.windows] == sorted(by_window)
    for each in truth.windows:
        rows = by_window[each.window.start_ms]
        assert each.users == len(rows)
        assert array_of(each).tolist() == joint_of(rows).tolist()
        assert each.window.end_ms - each.window.start_ms == MINUTE_MS
        mobility = each.numbers("mobility")
        assert [mobility.get(("", (name,)), 0.0) for name in MOBILITY] == pytest.approx(array_of(each).sum(axis=0))


def test_past_windows_are_filled_evenly_and_live_reports_have_the_current_time(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    people = table(tmp_path)
    assert command_line(simulate, survey, "--data", people, "--users", 10_000, "--windows", 5).exit_code == 0
    sent = broker.decoded()
    per_window = Counter[int]()
    for time_ms, count in zip(sent.time_ms.tolist(), sent.counts.tolist(), strict=True):
        per_window[pane_of(time_ms, collection_of().window)] += count
    assert len(per_window) == 5
    assert list(per_window.values()) == [2_000] * 5

    broker.sent.clear()
    before = now_ms()
    assert command_line(simulate, survey, "--data", people, "--users", 3_000).exit_code == 0
    earliest = collection_of().window.rounded(before)
    assert earliest <= broker.decoded().time_ms.min() <= broker.decoded().time_ms.max() <= now_ms()


def test_without_a_file_the_truth_is_printed_by_window(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    result = command_line(simulate, survey, "--data", table(tmp_path), "--users", 100, "--windows", 2)
    lines = result.stdout.splitlines()
    assert len(lines) == 1 + 2 * 2
    assert sum("bathing-mobility truth reports=50" in line for line in lines) == 2
    assert sum(" mobility truth reports=50" in line for line in lines) == 2
    assert "seed" not in result.stderr


def test_a_seed_repeats_the_reports_and_warns_that_it_hides_nothing(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    runs = []
    for seed in (1, 1, 2):
        broker.sent.clear()
        result = command_line(simulate, survey, "--data", table(tmp_path), "--users", 500, "--seed", seed)
        assert result.exit_code == 0
        assert "hides nothing: use it for simulated users only" in result.stderr
        runs.append((sorted(broker.decoded().rows[0].ravel().tolist()), broker.decoded().batch_ids))
    assert runs[0][0] == runs[1][0]
    assert runs[0][0] != runs[2][0]
    assert not set(runs[0][1]) & set(runs[1][1]), "a repeated id would be taken for a copy"


def test_without_a_seed_runs_differ_and_noise_comes_from_the_operating_system(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path, os_words: list[int]
) -> None:
    runs = []
    for _ in range(2):
        broker.sent.clear()
        command_line(simulate, survey, "--data", table(tmp_path), "--users", 300)
        runs.append(sorted(broker.decoded().rows[0].ravel().tolist()))
    assert runs[0] != runs[1]
    assert os_words.count(300 * 5) == 4, "permanent and instantaneous words, twice"


def test_a_rate_is_not_exceeded(broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path) -> None:
    begun = time.monotonic()
    command_line(simulate, survey, "--data", table(tmp_path), "--users", 200, "--rate", 500)
    # The last of the steps of 50 is due after 150 of the 200 reports.
    assert time.monotonic() - begun >= 0.3
    assert broker.decoded().counts.sum() == 200


def test_a_file_that_is_not_the_registered_collection_is_refused(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.registered["care-survey"] = Registration.of(collection_of(mechanism="{kind: k-rr, epsilon: 2}"))
    result = command_line(simulate, survey, "--data", table(tmp_path), "--users", 5_000)
    assert result.exit_code == 1
    assert "mechanism.kind (registered: k-rr; here: rr-ldp)" in result.stderr
    assert broker.sent == []


def test_lost_reports_end_the_command(broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(simulate, survey, "--data", table(tmp_path))
    assert result.exit_code == 1
    assert "were not acknowledged" in result.stderr


def test_windows_that_are_too_old_to_be_counted_are_refused(
    broker: FakeBroker, command_line: Run, tmp_path: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", window="max_age: 10m")
    refused = command_line(simulate, survey, "--data", table(tmp_path), "--windows", 10)
    assert refused.exit_code == 1
    assert "older than max_age, 600000 ms, are refused; at most 9" in refused.stderr
    assert broker.sent == []
    assert command_line(simulate, survey, "--data", table(tmp_path), "--windows", 9).exit_code == 0


def test_a_table_that_is_not_a_population_ends_the_command(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    result = command_line(simulate, survey, "--data", table(tmp_path, "no,wheelchair,1"))
    assert result.exit_code == 1
    assert "people.csv:2" in result.stderr
    not_gzip = tmp_path / "people.csv.gz"
    not_gzip.write_bytes(b"bathing")
    assert "it is not gzip" in command_line(simulate, survey, "--data", not_gzip).stderr


def test_a_population_reaches_a_real_broker(
    settings: Settings, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    asyncio.run(create_topics(settings))
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    result = command_line(simulate, survey, "--data", table(tmp_path), "--users", 50_000, "--windows", 3, *flags)
    assert result.exit_code == 0
    assert asyncio.run(batches_of(settings)).counts.sum() == 50_000


def test_a_parquet_file_is_played_with_bins_and_without_rows_that_lack_a_value(
    command_line: Run, tmp_path: Path
) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(
        "collection: people\nmechanism: {kind: k-rr, epsilon: 8}\n"
        "attributes:\n  - {name: age, values: [young, old]}\n"
        "window: {size: 60s}\nestimates: [{name: age, of: [age]}]\n"
    )
    pd.DataFrame({"age": [3.0, None, 64.0, 17.0]}).to_parquet(tmp_path / "people.parquet")
    data = ("--data", tmp_path / "people.parquet")
    with kafka_in_memory(load_collection(file)) as kafka:
        played = command_line(simulate, file, *data, "--bins", "age=0,18,65", "--missing", "skip", "--seed", "1")
        refused = command_line(simulate, file, *data, "--bins", "age=0,18,65")
        assert kafka.reports("people") == 3
    assert "1 row without a value, left out" in played.stderr
    assert "truth reports=3 young=0.6667 old=0.3333" in played.stdout
    assert refused.exit_code == 1
    assert "people.parquet: row 2: attribute 'age': the value is missing" in refused.stderr


def test_nothing_is_published_where_the_truth_cannot_be_written(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    result = command_line(simulate, survey, "--data", table(tmp_path), "--truth", nowhere / "truth.json")
    assert result.exit_code == 2
    assert f"there is no directory {nowhere}" in result.stderr
    assert broker.sent == []


def test_simulate_prints_the_reports_of_each_phase_and_saves_the_truth(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    data = data_file(tmp_path, "Alien Brazil\nAlien\n\nHeat Alien Alien\n")
    truth_file = tmp_path / "truth.json"
    result = command_line(simulate, quick, "--data", data, "--users", 4, "--truth", truth_file)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    # A slow machine may be too late for some of them; what is said is what was sent.
    first, second = report_counts(broker)
    assert lines[0].endswith(f" phase 1 of 2: {first} of 4 users reported on 8 items")
    assert lines[1].endswith(f" phase 2 of 2: {second} of 4 users reported on 4 items")
    assert lines[2].startswith(f"{quantity(first + second, 'report')} of 4 simulated users in ")
    assert lines[3:] == ["true top 2 items:", "   1 Alien 0.7500", "   2 Brazil 0.2500"]
    truth = Truth.load(truth_file)
    numbers = {names: share for (_, names), share in truth.population.numbers("items").items()}
    assert numbers == {("Alien",): 0.75, ("Brazil",): 0.25, ("Heat",): 0.25}
    assert truth.fingerprint == films(**QUICK).fingerprint.hex()


def test_a_population_is_as_large_as_asked_for(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "films.txt.gz"
    packed.write_bytes(gzip.compress(b"Alien Brazil\nGilda\n"))
    result = command_line(simulate, quick, "--data", packed, "--users", 3_000, "--seed", 1, "--epochs", 1)
    assert result.exit_code == 0
    assert "hides nothing: use it for simulated users only" in result.stderr
    lines = result.stdout.splitlines()
    assert sum(" of 3,000 users reported" in line for line in lines) == 2
    assert lines[2].startswith(f"{quantity(sum(report_counts(broker)), 'report')} of 3,000 simulated users")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", ":2: an item of the set is not among the collection's items"),
        ("Alien\nBrazil,Telltale\n", ":2: it has a comma, but the items of a line are separated by blanks"),
        ('["Telltale"\n', ":1: not JSON"),
        ("", "empty; it needs a user's items on each line"),
    ],
)
def test_a_file_that_is_not_a_population_is_refused_without_repeating_its_items(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, text))
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output
    assert broker.sent == []


def test_lost_reports_of_a_population_end_the_command_with_an_error(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"))
    assert result.exit_code == 1
    assert "was not acknowledged" in result.stderr
    assert "0 reports of 1 simulated user" in result.stdout


@pytest.mark.parametrize("option", ["--rate", "--windows"])
def test_an_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, option: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"), option, 1)
    assert result.exit_code == 2
    assert "for collections of records" in result.stderr


def test_an_option_for_item_sets_is_refused_for_records(
    broker: FakeBroker, command_line: Run, tmp_path: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml")
    simulated = command_line(simulate, survey, "--data", survey, "--epochs", 1)
    reported = command_line(report, survey, "--epochs", 1)
    assert simulated.exit_code == reported.exit_code == 2
    assert "which care-survey is not: leave it out" in simulated.stderr
    assert "which care-survey is not: leave it out" in reported.stderr


def test_the_true_top_is_said_of_items_and_of_itemsets(
    monkeypatch: pytest.MonkeyPatch, broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    async def report_nothing(*_: object, **__: object) -> None:
        """The reports are not what this is about."""

    monkeypatch.setattr("stream_ldp.cli.simulate._play", report_nothing)
    quick.write_text(quick.read_text(encoding="utf-8") + "itemsets: {k: 1, sizes: [2]}\n", encoding="utf-8")
    data = data_file(tmp_path, "Alien Brazil\nAlien Brazil\nAlien\nAlien Heat\n")
    result = command_line(simulate, quick, "--data", data)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1:] == [
        "true top 2 items:",
        "   1 Alien 1.0000",
        "   2 Brazil 0.5000",
        "true top 1 itemsets:",
        "   1 Alien + Brazil 0.5000",
    ]


def told(*, late_ms: int, capsys: pytest.CaptureFixture[str]) -> str:
    """Report 300 times for a window that is over or not, while somebody looks, and return what is said."""
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:

        async def report(at_ms: int) -> None:
            entropy = SeededEntropy(1)
            async with Reporter(survey, settings=kafka.settings, entropy=entropy, clock=lambda: at_ms) as reporter:
                await reporter.report_many([(0, 0)] * 300, secrets=None)

        async def play() -> None:
            await report(START_MS)
            await asyncio.to_thread(kafka.close_windows)
            async with refusals_shown(survey, kafka.settings):
                await report(kafka.clock() - late_ms)
                await asyncio.to_thread(kafka.close_windows)

        asyncio.run(play())
    return capsys.readouterr().err


def test_reports_that_come_too_late_are_counted_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(late_ms=3 * MINUTE_MS, capsys=capsys)
    assert said == (
        "workers have refused 300 reports of care-survey meanwhile: 300 late\n"
        "  -> see them: stream-ldp dead-letters list care-survey\n"
    )


def test_nothing_is_said_where_every_report_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(late_ms=0, capsys=capsys) == ""
