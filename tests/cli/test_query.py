"""Tests of `stream-ldp query`: what it takes, in which form, and what it says when it cannot."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from stream_ldp import extras
from stream_ldp.cli import app, table_output
from stream_ldp.cli.query import query
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.records.distribution import Axis
from tests.client.answer_topics import published
from tests.client.examples import collection_of, of_minute, write_survey
from tests.marginals.examples import TEXT as SAMPLED
from tests.marginals.examples import collection_of as sampled
from tests.marginals.examples import marginals_of
from tests.views.examples import NUMBERS, numbers_of, solved, sums_of, workers

Run = Callable[..., Result]


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_at_a_terminal_csv_commands_nothing_and_in_a_pipe_it_is_data(
    command_line: Run, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = Axis(attribute="bathing", values=("\x1b]0;owned\x07", "a\nb"))
    answer = of_minute(0)
    with published(answer.model_copy(update={"axes": (hostile, answer.axes[1])})):
        piped = command_line(query, survey, "--format", "csv").stdout
        as_json = command_line(query, survey, "--format", "json").stdout
        monkeypatch.setattr(table_output, "_at_a_terminal", lambda: True)
        shown = command_line(query, survey, "--format", "csv").stdout
    assert {row["bathing"] for row in csv.DictReader(io.StringIO(piped))} == {"\x1b]0;owned\x07", "a\nb"}
    assert {row["bathing"] for row in json.loads(as_json)} == {"\x1b]0;owned\x07", "a\nb"}
    assert "\x1b" not in as_json + shown
    assert "\\x1b]0;owned\\x07" in shown
    assert len(shown.splitlines()) == 7


def test_the_last_final_is_taken_as_text_csv_json_and_parquet(
    command_line: Run, survey: Path, tmp_path: Path
) -> None:
    with published(of_minute(0), of_minute(1), of_minute(2, final=False)):
        text = command_line(query, survey)
        taken = rows(command_line(query, "care-survey", "--format", "csv"))
        document = json.loads(command_line(query, survey, "--format", "json").stdout)
        for suffix in ("csv", "json", "parquet"):
            assert command_line(query, survey, "--output", tmp_path / f"a.{suffix}").stdout == ""
    assert "window_start: 1970-01-01T00:01:00Z" in text.stdout
    assert [(row["window_start"], float(row["estimate"])) for row in taken] == [
        (row["window_start"], row["estimate"]) for row in document
    ]
    assert {row["window_start"] for row in taken} == {"1970-01-01T00:01:00+00:00"}
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert list(frame["estimate"]) == [row["estimate"] for row in document]
    assert rows_of_file(tmp_path / "a.csv") == taken
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == document


def rows_of_file(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_the_history_is_taken_whole_by_number_or_by_time(command_line: Run) -> None:
    def starts(*flags: str) -> set[str]:
        return {row["window_start"][11:16] for row in rows(command_line(query, *taken, *flags))}

    taken = ("care-survey", "--format", "csv")
    with published(*(of_minute(minute) for minute in range(4)), of_minute(4, final=False)):
        assert starts() == {"00:03"}
        assert starts("--history") == {"00:00", "00:01", "00:02", "00:03"}
        assert starts("--last", "2") == {"00:02", "00:03"}
        assert starts("--since", "1970-01-01T00:02") == {"00:02", "00:03"}
        assert starts("--since", "1970-01-01T01:01+01:00", "--until", "1970-01-01T00:03:00Z") == {"00:01", "00:02"}
        assert starts("--provisional") == {"00:04"}


def test_marginals_and_conditionals_are_taken(command_line: Run) -> None:
    with published(of_minute(0)):
        marginal = rows(command_line(query, "care-survey", "--of", "bathing", "--format", "csv"))
        given = rows(command_line(query, "care-survey", "--of", "mobility", "--given", "bathing", "--format", "csv"))
        misspelt = command_line(query, "care-survey", "--of", "bath")
    assert {row["bathing"]: float(row["estimate"]) for row in marginal} == pytest.approx({"no": 0.6, "yes": 0.4})
    assert sum(float(row["estimate"]) for row in given if row["bathing"] == "yes") == pytest.approx(1.0)
    assert misspelt.exit_code == 2
    assert "'bath' is not an attribute of this estimate; did you mean 'bathing'?" in misspelt.stderr


def test_an_interval_has_the_level_that_was_asked_for(command_line: Run) -> None:
    with published(of_minute(0)):
        (row, *_) = rows(command_line(query, "care-survey", "--level", "0.5", "--format", "csv"))
        refused = command_line(query, "care-survey", "--level", "95")
    assert float(row["high"]) - float(row["estimate"]) == pytest.approx(0.6745 * 0.01, rel=1e-3)
    assert refused.exit_code == 2
    assert "between 0 and 1" in refused.stderr


def test_that_there_is_nothing_yet_is_an_error_that_says_what_there_may_be(command_line: Run) -> None:
    with published(of_minute(0, final=False)):
        nothing = command_line(query, "care-survey")
        other = command_line(query, "care-survey", "--estimate", "mobility", "--provisional")
    assert nothing.exit_code == other.exit_code == 1
    assert "no final answer yet" in nothing.stderr
    assert "--provisional" in nothing.stderr
    assert "no answer of mobility yet" in other.stderr


def test_what_is_no_answer_is_pointed_out_and_passed_over(command_line: Run) -> None:
    with published(b"{}", of_minute(0)):
        result = command_line(query, "care-survey", "--format", "csv")
    assert len(rows(result)) == 6
    assert "offset 0: not an answer (Estimate): " in result.stderr


def test_answers_of_another_collection_of_the_name_are_not_read_by_the_file(command_line: Run, survey: Path) -> None:
    other = survey.with_name("other.yaml")
    other.write_text(survey.read_text(encoding="utf-8").replace("f: 0.25", "f: 0.5"), encoding="utf-8")
    registered = Registration.of(collection_of())
    earlier = of_minute(0).model_copy(update={"fingerprint": "00" * 16})
    with published(earlier, of_minute(1)) as broker:
        collections = Settings.load().topic_names.collections
        broker.topics.add(collections)
        broker.put(collections, registered.value, key=registered.key)
        result = command_line(query, other)
        assert len(rows(command_line(query, survey, "--history", "--format", "csv"))) == 6, "those of this file alone"
    assert result.exit_code == 1
    assert "the answers of this name are not read by this file" in result.stderr


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--given", "bathing"], "--given needs --of"),
        (["--format", "parquet"], "say where to write it"),
        (["--output", "answers.xls"], "say --format"),
        (["--since", "yesterday"], "is not a time like 2026-01-31"),
    ],
)
def test_options_that_make_no_sense_are_refused(command_line: Run, flags: list[str], problem: str) -> None:
    with published(of_minute(0)):
        result = command_line(query, "care-survey", *flags)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_a_missing_extra_and_a_file_that_cannot_be_written_are_errors(
    command_line: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str) -> None:
        raise ModuleNotFoundError(module)

    with published(of_minute(0)):
        nowhere = command_line(query, "care-survey", "-o", tmp_path / "none" / "a.csv")
        monkeypatch.setattr(extras, "import_module", missing)
        without = command_line(query, "care-survey", "-o", tmp_path / "a.parquet")
    assert nowhere.exit_code == without.exit_code == 1
    assert "cannot be written: No such file" in nowhere.stderr
    assert "pip install 'stream-ldp[analysis]'" in without.stderr


@pytest.mark.parametrize("command", ["query", "watch"])
def test_a_broker_that_does_not_answer_is_explained_for_a_file_as_for_a_name(command: str, tmp_path: Path) -> None:
    survey = write_survey(tmp_path / "survey.yaml")
    told = {
        CliRunner().invoke(app, [command, each, "--brokers", "127.0.0.1:1"]).stderr
        for each in (str(survey), "care-survey")
    }
    assert told == {"127.0.0.1:1: connection refused: no broker listens on this port\n"}


def test_answers_are_drawn_into_a_picture(command_line: Callable[..., Result], tmp_path: Path) -> None:
    with published(of_minute(1), of_minute(2)):
        done = command_line(query, "care-survey", "--history", "--of", "mobility", "--plot", tmp_path / "out.svg")
        wrong = command_line(query, "care-survey", "--plot", tmp_path / "out.txt")
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "out.svg").read_text()
    assert wrong.exit_code == 2
    assert "its name ends in none of .svg, .png, .pdf" in wrong.stderr


def test_ranges_are_taken_as_a_table(command_line: Run, tmp_path: Path) -> None:
    collection = sampled("epsilon: 2")
    file = tmp_path / "diets.yaml"
    file.write_text(SAMPLED.format(mechanism="epsilon: 2", window=""), encoding="utf-8")
    with published(marginals_of(collection), collection=collection):
        taken = rows(command_line(query, file, "--between", "20,40", "--format", "csv"))
        assert [(row["quantity"], row["value"]) for row in taken] == [("share", "20 to 40"), ("mean", "20 to 40")]
        named = rows(command_line(query, file, "--between", "age=20,40", "--format", "csv"))
        assert [row["estimate"] for row in named] == [row["estimate"] for row in taken]
        for wrong, message in (("40,20", "the smaller one first"), ("20", "two numbers"), ("a,b", "two numbers")):
            refused = command_line(query, file, "--between", wrong)
            assert refused.exit_code == 2
            assert message in refused.output
        assert command_line(query, file, "--between", "1,2", "--of", "age", "--given", "diet").exit_code == 2
        for second, code, message in (
            ("30,50", 2, "each needs a name"),
            ("age=30,50", 2, "has a range already"),
            ("size=40,20", 2, "--between size=40,20: expected two numbers, the smaller one first"),
            ("diet=1,2", 2, "each user of a sampled collection reports one attribute"),
        ):
            refused = command_line(query, file, "--between", "age=20,40", "--between", second)
            assert (refused.exit_code, message in " ".join(refused.output.split())) == (code, True)
        assert "each needs a name" in command_line(query, file, "--between", "1,2", "--between", "3,4").output


def test_ranges_of_two_numbers_are_asked_for_by_their_names(command_line: Run, tmp_path: Path) -> None:
    collection = numbers_of()
    file = tmp_path / "work.yaml"
    document = NUMBERS.format(mechanism="epsilon: 2, ask: attributes 0.5 + pairs")
    file.write_text(f"title: Work\n{document}", encoding="utf-8")
    final = solved(collection, collection.series[1], sums_of(collection.questions, workers(20_000)))
    with published(final, collection=collection):
        text = command_line(query, file, "--between", "20,40").stdout.splitlines()
        refused = command_line(query, file, "--between", "size=20,40")
        both = ("--between", "age=53,75", "--between", "hours=45,72")
        (row,) = rows(command_line(query, file, *both, "--format", "csv"))
        split = rows(command_line(query, file, *both, "--of", "sex", "--format", "csv"))
    assert text[-3].split()[:3] == ["age", "hours", "estimate"]
    assert (refused.exit_code, refused.stdout) == (2, ""), "it prints no title before it refuses"
    assert (row["age"], row["hours"]) == ("53 to 75", "45 to 72")
    assert 0.25 < float(row["estimate"]) < 0.5
    assert float(row["low"]) < float(row["estimate"]) < float(row["high"])
    assert [each["sex"] for each in split] == ["f", "m"]
    assert sum(float(each["estimate"]) for each in split) == pytest.approx(float(row["estimate"]), abs=1e-3)


def test_a_distribution_is_printed_as_a_few_round_bins_that_add_up_unless_all_is_wanted(
    command_line: Run, tmp_path: Path
) -> None:
    collection = sampled("epsilon: 2")
    file = tmp_path / "diets.yaml"
    file.write_text(SAMPLED.format(mechanism="epsilon: 2", window=""), encoding="utf-8")
    with published(marginals_of(collection), collection=collection):
        brief, whole = (command_line(query, file, "--of", "age", *more).output for more in ((), ("--all",)))
        points = rows(command_line(query, file, "--of", "age", "--format", "csv"))
    bins = re.findall(r"^ *age +share +(\d+) to (\d+) .*?(-?0?\.\d+) ", brief, re.MULTILINE)
    assert [(int(low), int(high)) for low, high, _ in bins] == [(each, each + 10) for each in range(0, 100, 10)]
    assert sum(float(share) for *_, share in bins) == pytest.approx(1.0, abs=0.02)
    assert not re.search(r" share +\S+ to ", whole)
    assert whole.count(" share ") == len([row for row in points if row["quantity"] == "share"]) >= 100


def test_kinds_without_numbers_have_no_ranges(command_line: Run, survey: Path) -> None:
    with published(of_minute(0)):
        refused = command_line(query, survey, "--between", "20,40")
    assert refused.exit_code != 0
    assert "no numbers with a `range`" in refused.output
