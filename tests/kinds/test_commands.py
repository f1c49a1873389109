"""The commands with a file of every kind, in one process with a Kafka in memory."""

import asyncio
import csv
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from stream_ldp.audit.specified_rows import w_event_claims
from stream_ldp.cli import app
from stream_ldp.cli.simulation.truth import Truth
from stream_ldp.collection.labels import codes_of
from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.mechanisms import SECRET_BYTES
from stream_ldp.pipeline.kind import Kind
from stream_ldp.pipeline.plan import finite
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.kinds.subjects import SUBJECTS, Subject, rotated_text
from tests.kinds.users import START_MS, play, rows_sent

USERS = 300


def run(*arguments: object) -> Result:
    """Run a command; it must not end by an unexpected exception."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def output(*arguments: object) -> str:
    """Run a command that succeeds, and return what it prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def people(subject: Subject, tmp_path: Path) -> Path:
    """Write what three users hold."""
    path = tmp_path / "people.csv"
    path.write_text(subject.lines(subject.users(3)), encoding="utf-8")
    return path


@pytest.fixture
async def answered(memory: KafkaInMemory, collection: Any, subject: Subject) -> list[Any]:
    """Let users report, and return the final answers."""
    return await play(memory, collection, subject.users(USERS))


def test_a_file_is_checked_and_described(file: Path, collection: Any, subject: Subject, kind: Any) -> None:
    assert output("check", file) == (
        f"{file}: ok: collection {collection.name}, fingerprint {collection.fingerprint.hex()}, {subject.summary}, "
        "windows of 10 s\n"
    )
    assert kind.summary(collection) == subject.summary


def test_a_misspelt_key_is_located_with_the_right_one(file: Path, subject: Subject) -> None:
    right, wrong = subject.misspelt
    assert right in subject.text
    file.write_text(subject.text.replace(right, wrong, 1), encoding="utf-8")
    result = run("check", file)
    assert result.exit_code == 1
    assert re.search(rf"collection.yaml:\d+:\d+: \S*{wrong.split(':')[0]}: unknown key", result.stderr)
    assert right.split(":")[0] in result.stderr


@pytest.mark.usefixtures("few_draws")
def test_a_plan_states_the_error_to_expect_as_text_and_as_json(
    file: Path, collection: Any, subject: Subject, kind: Kind[Any, Any, Any]
) -> None:
    text = output("plan", file, "--users", 1_000)
    for part in (f"Collection {collection.name}, fingerprint {collection.fingerprint.hex()}", *subject.planned):
        assert part in text
    planned = json.loads(output("plan", file, "--json", "--users", 1_000))
    assert planned["meaning"] == collection.meaning
    assert (
        json.loads(json.dumps(finite(asdict(kind.plan(collection, populations=[1_000]))))).items() <= planned.items()
    )


@pytest.mark.long
def test_an_audit_enumerates_what_any_windows_cost(tmp_path: Path, rotated: Any, subject: Subject) -> None:
    """The next test has as much of it as costs little."""
    path = tmp_path / "rotated.yaml"
    path.write_text(rotated_text(subject), encoding="utf-8")
    (row,) = json.loads(output("audit", path, "--exact", "--json"))["w_event"]
    assert (row["windows"], row["turns"]) == (3, 1)
    assert row["enumerated"] == pytest.approx(row["claimed"], rel=1e-6)


@pytest.mark.usefixtures("few_draws")
def test_a_plan_says_what_any_windows_cost_and_how_often_a_user_can_be_asked(
    tmp_path: Path, rotated: Any, subject: Subject, kind: Any
) -> None:
    path = tmp_path / "rotated.yaml"
    path.write_text(rotated_text(subject), encoding="utf-8")
    planned = json.loads(output("plan", path, "--json", "--users", 1_000))
    (turns,) = planned["w_event"]
    (claim,) = w_event_claims(rotated, [], claimed=turns["epsilon"])
    assert (claim.about["windows"], claim.about["turns"]) == (3, 1)
    assert turns["epsilon"] == kind.per_turn(rotated) == pytest.approx(3 * turns["divided"])
    assert turns["every_ms"] == 3 * rotated.turn_ms
    for each in planned["renewing"]:
        assert each["times"] * turns["epsilon"] <= each["nats"] < (each["times"] + 1) * turns["epsilon"]
        assert each["asked"] == pytest.approx(each["days"] * 86_400_000 / rotated.turn_ms / 3)


def test_the_truth_of_simulated_users_is_that_of_their_table(collection: Any, subject: Subject, kind: Any) -> None:
    encoded = [collection.encode(each) for each in subject.users(30)]
    totals = kind.totals(collection, collection.table(encoded))
    assert {key: total / 30 for key, total in totals.items() if total} == pytest.approx(dict(subject.truth))


def test_a_table_that_is_no_population_is_refused_without_its_values(
    memory: KafkaInMemory, collection: Any, file: Path, people: Path, subject: Subject
) -> None:
    """The first line of the file of a table has the names of its columns."""
    for message, wrong in subject.refused_lines.items():
        people.write_text(subject.lines([subject.held[0], wrong]), encoding="utf-8")
        result = run("simulate", file, "--data", people)
        assert result.exit_code == 1
        assert f"people.csv:{3 if isinstance(wrong, dict) else 2}: " in result.stderr
        assert message in result.stderr
        assert "hidden" not in result.output.lower()
    assert memory.reports(collection.name) == 0


def test_a_file_that_is_not_text_or_lacks_a_column_is_refused(
    memory: KafkaInMemory, collection: Any, file: Path, people: Path, subject: Subject
) -> None:
    """A set has no columns."""
    text = people.read_bytes()
    people.write_bytes(text + b"\xff\xfe\n")
    assert "UTF-8" in run("simulate", file, "--data", people).stderr
    if isinstance(subject.held[0], dict):
        *_, column = subject.held[0]
        people.write_bytes(text.replace(column.encode(), b"another"))
        assert f"the first line has no column '{column}'" in run("simulate", file, "--data", people).stderr
    people.write_bytes(b"")
    assert run("simulate", file, "--data", people).exit_code == 1
    assert memory.reports(collection.name) == 0


def test_answers_are_taken_as_text_csv_and_json(collection: Any, file: Path, answered: list[Any]) -> None:
    wanted = [cell for answer in answered if answer.settled for cell in answer.cells()]
    rows = list(csv.DictReader(io.StringIO(output("query", file, "--format", "csv"))))
    assert [float(row["estimate"]) for row in rows] == [cell.estimate for cell in wanted]
    assert {row["collection"] for row in rows} == {collection.name}
    for row, cell in zip(rows, wanted, strict=True):
        assert {name: row[name] for name in cell.labels} == {name: str(value) for name, value in cell.labels.items()}
    assert [row["estimate"] for row in json.loads(output("query", collection.name, "--format", "json"))] == [
        cell.estimate for cell in wanted
    ]
    assert output("query", file).startswith("collection: ")


def test_answers_are_watched_as_lines_and_as_json_with_their_truth(
    file: Path, people: Path, collection: Any, subject: Subject, answered: list[Any], tmp_path: Path
) -> None:
    (line,) = output("watch", file, "--once", "--finals").splitlines()
    final = answered[-1]
    assert line.startswith(f"{final.window} {final.series} final reports={final.reports} plausible=")
    truth = Truth(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        population={
            "users": 3,
            "totals": [(target, *key, 3 * share) for (target, key), share in subject.truth.items()],
        },
    )
    truth.save(tmp_path / "truth.json")
    (shown,) = output("watch", file, "--once", "--finals", "--json", "--truth", tmp_path / "truth.json").splitlines()
    read = json.loads(shown)
    compared = read.pop("truth")
    assert compared
    assert json.loads(final.to_bytes()).items() <= read.items()


def test_people_read_labels_in_place_of_values_and_programs_read_the_values(subject: Subject, tmp_path: Path) -> None:
    if subject.label is None:
        pytest.skip("its values are in no list, and have no labels")
    collection = parse_collection(subject.labelled_text)
    _, value, label = subject.label
    (file := tmp_path / "collection.yaml").write_text(subject.labelled_text, encoding="utf-8")
    assert collection.fingerprint == parse_collection(subject.text).fingerprint
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        *_, final = asyncio.run(play(kafka, collection, subject.users(USERS)))
        for given in (file, collection.name):
            shown, csv = output("query", given), output("query", given, "--format", "csv")
            assert "About people" in shown
            assert label in shown
            assert re.search(rf"\b{value}\b", csv)
            assert label not in csv
            assert output("explain", given).startswith("About people, ")
            assert label.replace(" ", "_") in output("watch", given, "--once", "--finals")
            assert label not in output("watch", given, "--once", "--finals", "--json")
            rows = [json.loads(line) for line in output("export", given).splitlines()]
            named = [each for each in rows if label in each["cell_name"]]
            assert named
            assert all(value in json.loads(each["cell_labels"]).values() for each in named)
    assert label in str([cell.names for cell in final.labelled(collection.labels).cells()])
    assert final.labelled(collection.labels).labelled(codes_of(collection.labels)) == final


def test_the_last_final_is_explained_in_sentences(file: Path, collection: Any, answered: list[Any]) -> None:
    final = answered[-1]
    title, *sentences = output("explain", file).splitlines()
    assert title == f"{collection.name}, {final.series}, {final.window}"
    assert [each for each in sentences if each.endswith(".")]


def test_a_window_is_computed_again_from_its_log(file: Path, collection: Any, answered: list[Any]) -> None:
    for line, final in zip(output("replay", file).splitlines(), answered[-1:], strict=True):
        assert line == (f"{collection.name} {final.series} {final.window}: equal, from {final.reports} reports")


@pytest.mark.usefixtures("answered")
def test_a_window_whose_reports_are_others_is_reported(memory: KafkaInMemory, collection: Any, file: Path) -> None:
    answers = memory.settings.topic_names.answers(collection)
    with kafka_in_memory(collection, now_ms=memory.clock()) as other:
        for record in memory.broker.available(answers):
            other.broker.put(answers, record.value, key=record.key)
        result = run("replay", file)
    assert result.exit_code == 4
    assert f"reports: published {USERS}, recomputed 0" in result.stdout


def test_a_collection_is_evaluated_on_a_table_with_a_key_that_varies(people: Path, subject: Subject) -> None:
    text, vary, series = subject.evaluated
    people.write_text(subject.lines(subject.users(60)), encoding="utf-8")
    arguments = ("evaluate", "--data", people, "--collection", text, "--vary", vary, "--users", "30,40")
    flags = ("--repeats", 2)

    def results(*more: object) -> list[dict[str, Any]]:
        result = run(*arguments, *flags, "--json", *more)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return [each | {"seconds": 0} for each in json.loads(result.stdout)["results"]]

    found = results("--seed", 1)
    key, values = vary.split("=")
    assert [(each["varied"], each["users"], each["series"]) for each in found] == [
        ({key: json.loads(value) if value[0].isdigit() else value}, users, name)
        for value in values.split(",")
        for users in (30, 40)
        for name in series
    ]
    for each in found:
        assert list(each) == ["series", "varied", "users", "repeats", "metrics", "seconds"]
        means = {name for name, value in each["metrics"].items() if isinstance(value, float)}
        wanted = set(series[each["series"]].split())
        assert wanted | {f"{name}_sd" for name in wanted} <= means
        assert means - wanted - {f"{name}_sd" for name in wanted} <= {"epsilon", "epsilon_lifetime"}
    assert found == results("--seed", 1), "the seed determines every number"
    rows = [line for line in output(*arguments, *flags, "--seed", 1).splitlines() if line.strip()]
    assert len([line for line in rows if line.strip().startswith(tuple(series))]) == len(found)


@pytest.fixture
def at_once(kind: Kind[Any, Any, Any]) -> None:
    """Leave out kinds whose users answer rounds: test_simulate.py and test_report.py have as much of them."""
    if kind.rounds is not None:
        pytest.skip("its users answer rounds, as a worker asks them")


@pytest.mark.usefixtures("at_once")
def test_simulated_users_report_once_each_and_their_truth_is_written(
    memory: KafkaInMemory, collection: Any, file: Path, people: Path, subject: Subject, tmp_path: Path
) -> None:
    truth = tmp_path / "truth.json"
    output("simulate", file, "--data", people, "--users", 300, "--seed", 3, "--truth", truth)
    assert memory.reports(collection.name) == 300
    assert memory.refused == []
    found = Truth.load(truth)
    assert sum(each.users for each in found.windows) == 300
    for (target, key), share in subject.truth.items():
        assert found.population.numbers(target)[key] == pytest.approx(share)


@pytest.mark.usefixtures("at_once")
def test_the_truth_is_printed_where_no_file_is_given(
    memory: KafkaInMemory, collection: Any, file: Path, people: Path, subject: Subject
) -> None:
    printed = output("simulate", file, "--data", people, "--seed", 3)
    for (target, (_, names)), share in subject.truth.items():
        assert re.search(rf" {target} truth reports=3 .*{','.join(names)}={share:.4f}", printed), printed


@pytest.mark.usefixtures("at_once")
def test_a_seed_repeats_a_simulation(collection: Any, file: Path, people: Path) -> None:
    sent = []
    for seed in (3, 3, 4):
        with kafka_in_memory(collection, now_ms=START_MS) as kafka:
            output("simulate", file, "--data", people, "--users", 300, "--seed", seed)
            # The rows of a batch are in an order of their own.
            sent.append(sorted(rows_sent(kafka, collection)))
    assert sent[0] == sent[1] != sent[2]


@pytest.mark.usefixtures("at_once")
def test_a_user_reports_and_is_reported_what_it_has_cost(
    memory: KafkaInMemory,
    collection: Any,
    file: Path,
    people: Path,
    subject: Subject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # For one secret in some 400, both strings have one hash, and so one answer.
    monkeypatch.setattr("stream_ldp.ledger.secret.new_secret", lambda: bytes(range(SECRET_BYTES)))
    people.write_text(subject.lines([subject.held[0]] * 2), encoding="utf-8")
    budget = f"{subject.cost + 0.5:g}"
    flags = ("--secret-file", tmp_path / "secret", "--budget", budget, "--linked")
    printed = output("report", file, people, *flags)
    assert "2 reports of one user published" in printed
    assert f"{np.ceil(1_000 * round(subject.cost, 6)) / 1_000:.3f} of {budget} nats spent" in printed
    assert memory.reports(collection.name) == 2
    people.write_text(subject.lines([subject.held[1]]), encoding="utf-8")
    other = run("report", file, people, "--secret-file", tmp_path / "secret")
    assert other.exit_code == 1
    assert "has had another value" in other.stderr
    assert memory.reports(collection.name) == 2


@pytest.mark.usefixtures("at_once")
def test_lines_of_many_users_are_reported_and_bad_ones_are_located(
    memory: KafkaInMemory, collection: Any, file: Path, people: Path, subject: Subject
) -> None:
    output("report", file, people, "--many-users")
    assert memory.reports(collection.name) == 3
    if not subject.refused_lines:
        pytest.skip("every line is somebody's value")
    message, wrong = next(iter(subject.refused_lines.items()))
    people.write_text(subject.lines([subject.held[0], wrong, subject.held[1]]), encoding="utf-8")
    result = run("report", file, people, "--many-users")
    assert result.exit_code == 1
    assert "people.csv:3: " in result.stderr
    assert message in result.stderr
    assert "hidden" not in result.output.lower()
    assert memory.reports(collection.name) == 4
    assert "1 line skipped" in run("report", file, people, "--many-users", "--skip-bad").output


def test_no_subject_is_left_of_a_kind_that_is_gone() -> None:
    assert set(SUBJECTS) - {"coin"} == set(KINDS)
    for name, subject in SUBJECTS.items():
        if name in KINDS:
            assert isinstance(parse_collection(subject.text), KINDS[name].collection)
