"""`stream-ldp report`: whose reports are published, of records and of sets, what is refused, and what is said."""

import asyncio
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from aiokafka.errors import MessageSizeTooLargeError
from typer.testing import Result

from stream_ldp.cli import report as module
from stream_ldp.cli.inputs.records import Format
from stream_ldp.cli.report import ReportOptions, report
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import LooserTerms
from stream_ldp.ledger.terms import Assumption
from stream_ldp.quantity import quantity
from stream_ldp.sets.collection import ItemCollection
from tests.cli.films import QUICK, data_file, epochs_to_come, report_counts
from tests.client.examples import collection_of, write_survey
from tests.client.fakes import FakeBroker
from tests.client.items import film_round, films, films_text, reports_sent
from tests.client.test_on_kafka import batches_of, create_topics

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        ((), {}),
        (("--budget", "2", "--unlinked"), {"budget": 2.0, "linked": False}),
        (("--assume", "values", "--max-values", "3"), {"assumption": "values", "max_values": 3}),
        (("--per-day", "inf"), {"per_day": float("inf")}),
    ],
)
def test_the_terms_of_the_ledger_are_those_that_were_given_and_no_others(
    command_line: Run, survey: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], given: dict[str, Any]
) -> None:
    told: list[ReportOptions] = []
    monkeypatch.setattr(module, "_report_records", lambda collection, options: told.append(options))
    result = command_line(report, survey, *flags)
    assert result.exit_code == 0, result.output
    assert [each.given for each in told] == [given]
    assert told[0].path == Path("-"), "standard input"


def told(secret_file: Path, *, new_ledger: bool = False, change_terms: bool = False, **given: Any) -> ReportOptions:
    return ReportOptions(
        path=Path("-"),
        epochs=None,
        secret_file=secret_file,
        many_users=False,
        given=given,
        change_terms=change_terms,
        new_ledger=new_ledger,
        form=Format.AUTO,
        skip_bad=False,
        settings=Settings.load(),
    )


def test_a_new_user_has_the_terms_that_were_given_and_keeps_them(tmp_path: Path) -> None:
    secret, ledger = told(tmp_path / "secret", budget=2.0).user()
    assert ledger.terms.budget == 2.0
    again, kept = told(tmp_path / "secret").user()
    assert (again, kept.terms) == (secret, ledger.terms)


def test_terms_that_allow_more_need_to_be_agreed_to(tmp_path: Path) -> None:
    told(tmp_path / "secret", budget=2.0).user()
    with pytest.raises(LooserTerms):
        told(tmp_path / "secret", budget=3.0).user()
    _, ledger = told(tmp_path / "secret", budget=3.0, change_terms=True).user()
    assert ledger.terms.budget == 3.0


def test_another_assumption_does_not_keep_the_number_of_values_of_the_one_before(tmp_path: Path) -> None:
    told(tmp_path / "secret", budget=2.0, assumption=Assumption.VALUES, max_values=3).user()
    _, ledger = told(tmp_path / "secret", assumption=Assumption.CONSTANT).user()
    assert (ledger.terms.assumption, ledger.terms.max_values) == (Assumption.CONSTANT, None)


def test_a_mistake_in_the_terms_is_found_before_anything_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (told(tmp_path / "secret", new_ledger=True), told(tmp_path / "secret", budget=-1.0)):
        with pytest.raises(typer.Exit):
            wrong.user()
        said = capsys.readouterr().err
    assert said == "--budget: a budget of a lifetime is a positive number of nats, got -1.0\n"
    assert list(tmp_path.iterdir()) == []


PERMANENT_ONLY = "{kind: rr-ldp, f: 0.25}"

#: The budget of users in tests of other things.
BUDGET = ("--budget", "inf")


@pytest.fixture(autouse=True)
def application_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the directory of the default secret, so that it is never the developer's own."""
    directory = tmp_path / "settings"
    monkeypatch.setattr(typer, "get_app_dir", lambda _: str(directory))
    return directory


def csv_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "records.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows_sent(broker: FakeBroker, **changes: str) -> list[int]:
    return [int(row) for row in broker.decoded(collection_of(**changes)).rows[0].ravel()]


def published(result: Result) -> str:
    """Return the line about the reports, which comes before the line about the user's spending."""
    return result.stdout.splitlines()[0]


def test_a_file_that_is_not_the_registered_collection_is_refused_before_anything_is_spent(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    records = csv_file(tmp_path, "mobility,bathing", "some,no")
    broker.registered["care-survey"] = Registration.of(collection_of(mechanism=PERMANENT_ONLY))
    result = command_line(report, survey, records, "--secret-file", secret, *BUDGET)
    assert result.exit_code == 1
    assert "collection care-survey is registered with fingerprint " in result.stderr
    assert "mechanism.p (registered: none; here: 0.25)" in result.stderr
    assert "-> nothing is sent or spent with this file: use that of the workers" in result.stderr
    assert broker.sent == []
    broker.registered.clear()
    result = command_line(report, survey, records, "--secret-file", secret, *BUDGET)
    assert "3.154 nats spent" in result.stdout, "one report"


def test_records_of_a_csv_file_are_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "mobility,bathing", "some,no", "", '"some",no')
    result = command_line(report, survey, records, *BUDGET)
    assert (result.exit_code, result.stderr) == (0, "")
    assert published(result) == "2 reports of one user published"
    assert len(rows_sent(broker)) == 2


def test_a_user_has_the_same_permanent_response_in_every_run(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 20)
    for _ in range(2):
        assert command_line(report, survey, records, *BUDGET).exit_code == 0
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) == 1
    assert stat.S_IMODE((application_directory / "secret").stat().st_mode) == 0o600


def test_another_secret_file_is_another_user(broker: FakeBroker, command_line: Run, tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", "no,some")
    for user in range(40):
        assert (
            command_line(report, survey, records, "--secret-file", tmp_path / f"secret-{user}", *BUDGET).exit_code
            == 0
        )
    # All 40 alike: below 10^-10, as no response has a probability above 0.52.
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) > 1


def test_many_users_have_their_own_responses_and_no_secret(
    broker: FakeBroker, command_line: Run, tmp_path: Path, application_directory: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml", mechanism=PERMANENT_ONLY)
    records = csv_file(tmp_path, "bathing,mobility", *["no,some"] * 40, "yes,full")
    result = command_line(report, survey, records, "--many-users")
    assert (result.exit_code, result.stdout, result.stderr) == (
        0,
        "41 reports of as many users published; what these users have spent is not counted\n",
        "",
    )
    assert len(set(rows_sent(broker, mechanism=PERMANENT_ONLY))) > 1
    assert not application_directory.exists()


def test_a_secret_file_is_refused_with_many_users(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    result = command_line(report, survey, survey, "--many-users", "--secret-file", tmp_path / "secret")
    assert result.exit_code == 2
    assert "a secret is one user's" in result.stderr
    assert broker.sent == []


def test_the_first_bad_line_ends_the_command_and_is_named_without_its_value(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", "no,some", "no,wheelchair", "no,some")
    result = command_line(report, survey, records, *BUDGET)
    assert result.exit_code == 1
    assert published(result) == "2 reports of one user published"
    assert f"{records}:4: attribute 'mobility': the given value is not one of none, some, full" in result.stderr
    assert "wheelchair" not in result.output
    assert len(rows_sent(broker)) == 2


def test_nothing_after_a_bad_line_is_published_however_long_the_file(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", "bad", *["no,some"] * 100_000)
    result = command_line(report, survey, records, *BUDGET)
    assert (result.exit_code, published(result)) == (1, "1 report of one user published")


def test_bad_lines_are_skipped_and_counted_when_asked(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    records = csv_file(tmp_path, "bathing,mobility", "no,some", *["no,bad"] * 15, "no,some")
    result = command_line(report, survey, records, "--skip-bad", *BUDGET)
    assert (result.exit_code, published(result)) == (0, "2 reports of one user published; 15 lines skipped")
    assert len(result.stderr.splitlines()) == 10, "the first ten are shown"
    assert f"skipped {records}:3: attribute 'mobility'" in result.stderr
    assert len(rows_sent(broker)) == 2


def test_lost_reports_end_the_command_with_the_number_published(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"), *BUDGET)
    assert result.exit_code == 1
    assert published(result) == "0 reports of one user published"
    assert "1 report to topic stream-ldp.care-survey.reports was not acknowledged" in result.stderr


def test_a_missing_topic_ends_the_command_with_the_cure(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    broker.topics.clear()
    result = command_line(report, survey, csv_file(tmp_path, "bathing,mobility", "no,some"), *BUDGET)
    assert result.exit_code == 1
    assert "topics create" in result.stderr


def test_an_unusable_secret_file_ends_the_command(
    broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path
) -> None:
    survey.chmod(0o644)
    result = command_line(report, survey, csv_file(tmp_path), "--secret-file", survey)
    assert result.exit_code == 1
    assert "chmod 600" in result.stderr


def test_a_missing_file_ends_the_command(broker: FakeBroker, command_line: Run, survey: Path, tmp_path: Path) -> None:
    result = command_line(report, survey, tmp_path / "nothing", *BUDGET)
    assert result.exit_code == 1
    assert "No such file" in result.stderr


async def test_lines_are_reported_as_they_arrive_and_ctrl_c_does_not_wait_for_the_next(
    settings: Settings, survey: Path, tmp_path: Path
) -> None:
    await create_topics(settings)
    # A shell starts a job in the background with SIGINT ignored, and its children inherit that; a terminal's do not.
    terminal = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = "import typer; from stream_ldp.cli.report import report; typer.run(report)"
    flags = ["--secret-file", str(tmp_path / "secret"), "--topic-prefix", settings.topic_prefix, *BUDGET]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", f"{terminal}; {command}", str(survey), "-", "--brokers", settings.brokers, *flags),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    try:
        async with asyncio.timeout(60):
            process.stdin.write(b"bathing,mobility\nno,some\n")
            await process.stdin.drain()
            while (await batches_of(settings)).counts.sum() < 1:
                assert process.returncode is None, "it ended before it was told to"
                await asyncio.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert await process.wait() != 0
    finally:
        if process.returncode is None:
            process.kill()
        process.stdin.close()
        await process.wait()


def test_a_user_is_reported_of_each_report_and_what_it_costs(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    given = [data_file(tmp_path, "Alien Gilda\n"), "--secret-file", tmp_path / "secret", "--budget", "inf"]
    result = command_line(report, quick, *given, "--epochs", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    first, second = report_counts(broker)
    assert lines[-3] == f"{quantity(first + second, 'report')} of one user published"
    assert lines[-2].endswith("is now over 99.9 % right.")
    assert lines[-1] == f"{15.0 * (first + second):.3f} nats spent: any two users, however their values change"
    # The first epoch may be nearly over when the command begins.
    assert 1 <= first + second <= 4
    assert len(lines) == first + second + 3
    assert all(line.endswith(": reported, for 15.000 nats") for line in lines[:-3])


def test_a_user_holds_the_set_on_the_last_line_of_a_file(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    sets = data_file(tmp_path, 'Alien\nBrazil Dogville\n["Casablanca", "Fargo"]\n')
    secret = ["--secret-file", tmp_path / "secret", "--budget", "inf"]
    assert command_line(report, quick, sets, *secret, "--epochs", 2).exit_code == 0
    collection = films(**QUICK)
    first = film_round(1, epoch=0, collection=collection)
    layouts = [film_round(2, epoch=each, collection=collection, candidates=range(4)) for each in recent(collection)]
    found, *_ = reports_sent(broker, first, *layouts, collection=collection)
    assert found.total >= 1
    assert found.supports[[2, 5]].sum() == found.supports.sum() == found.total


def recent(collection: ItemCollection) -> range:
    first = epochs_to_come(collection)[0]
    return range(first - 20, first + 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", "an item of the set is not among the collection's items"),
        ("Alien\nBrazil, Telltale\n", "films.txt:2: it has a comma"),
        ("Alien\n[1]\n", "films.txt:2: not a JSON list of strings"),
        pytest.param(f"[{'1' * 5_000}]\n", "films.txt:1: not a JSON list of strings", id="a long number"),
    ],
)
def test_a_line_that_is_not_a_set_is_refused_without_being_repeated(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(
        report, quick, data_file(tmp_path, text), "--secret-file", tmp_path / "secret", "--budget", "inf"
    )
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output


def test_a_spent_budget_ends_the_command(broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path) -> None:
    flags = [data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", "--budget", 20]
    result = command_line(report, quick, *flags)
    assert result.exit_code == 1
    assert "1 report of one user published" in result.stdout
    assert "15.000 of 20 nats spent" in result.stdout
    assert "would cost 15.000 nats of privacy, and 5.000 are left of a budget of 20" in result.stderr
    assert sum(report_counts(broker)) == 1


@pytest.mark.parametrize(
    "flags",
    [
        ["--many-users"],
        ["--max-values", "2", "--assume", "values"],
        ["--skip-bad"],
        ["--format", "csv"],
        ["--assume", "fresh"],
    ],
    ids=lambda flags: flags[0],
)
def test_a_report_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, flags: list[str]
) -> None:
    result = command_line(report, quick, data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", *flags)
    assert result.exit_code == 2
    assert "for collections" in result.stderr
    assert not (tmp_path / "secret").exists()


def test_a_set_is_no_argument_which_every_user_of_the_machine_could_read(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    result = command_line(report, quick, "--items", "Alien", "--secret-file", tmp_path / "secret", "--budget", 20)
    assert result.exit_code == 2
    assert not (tmp_path / "secret").exists()


def test_a_user_of_memoised_reports_may_assume_values_and_is_charged_by_closed_form(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    mechanism = "{kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}"
    quick.write_text(films_text(mechanism=mechanism, size="700ms"), encoding="utf-8")
    assumed = ["--budget", 4, "--assume", "values", "--max-values", 2]
    result = command_line(
        report, quick, data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", *assumed, "--epochs", 2
    )
    assert result.exit_code == 0, result.stderr
    *told, count, _, spent = result.stdout.splitlines()
    assert all(line.endswith(": reported, for at most 1.000 nats") for line in told)
    assert 1 <= len(told) <= 2
    assert count == f"{quantity(len(told), 'report')} of one user published"
    assert spent.startswith("1.000 of 4 nats spent" if len(told) == 1 else "1.642 of 4 nats spent")
