"""Tests of `stream-ldp check`: what an operator sees of a collection file."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app, timing
from stream_ldp.records.collection import JointCollection
from tests.client.examples import write_survey
from tests.records.examples import TOWNS_TEXT


def check(*files: Path) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, files)], env={"COLUMNS": "500"})


def test_a_good_file_is_summarised_on_one_line(tmp_path: Path) -> None:
    file = write_survey(tmp_path / "survey.yaml", window="hop: 30s")
    done = check(file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        f"{file}: ok: collection care-survey, fingerprint {JointCollection.load(file).fingerprint.hex()}, "
        "2 attributes, lifetime epsilon 3.892 of each and 7.784 of a record, 5 bits a report, "
        "estimates bathing-mobility, mobility, windows every 30 s, of 60 s\n"
    )


def test_checking_goes_on_after_a_bad_file(tmp_path: Path) -> None:
    good = write_survey(tmp_path / "good.yaml")
    typo = write_survey(tmp_path / "typo.yaml", window="grase: 5s")
    binary, missing = tmp_path / "binary.yaml", tmp_path / "missing.yaml"
    binary.write_bytes(b"\x00\xff")
    done = check(missing, typo, good, binary)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"{good}: ok: collection care-survey")
    assert f"{missing}: there is no such file" in done.stderr
    assert f"{typo}:7:21: window.grase: unknown key; did you mean 'grace'?" in done.stderr
    assert f"{binary}: not UTF-8 text" in done.stderr


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    files = [write_survey(tmp_path / name) for name in ("one.yaml", "two.yaml")]
    done = check(*files)
    assert done.exit_code == 1
    assert f"{files[0]} and {files[1]} hold collections of the same name" in done.stderr


def test_provisional_answers_that_come_less_often_than_windows_are_warned_about(tmp_path: Path) -> None:
    file = write_survey(tmp_path / "survey.yaml")
    file.write_text(file.read_text(encoding="utf-8").replace("size: 60s", "size: 1s"), encoding="utf-8")
    done = check(file)
    assert done.exit_code == 0
    assert "warning: bathing-mobility: `every`, 2s, is longer than a window, 1s: few windows have more" in done.stderr


def test_an_attribute_of_thousands_of_values_is_warned_about_and_not_measured(tmp_path: Path) -> None:
    """To solve for a thousand values takes a second, and for 25,000 some hours and gigabytes."""
    file = tmp_path / "many.yaml"
    file.write_text(
        "collection: many\nmechanism: {kind: rr-ldp, f: 0.25}\nattributes:\n"
        f"  - {{name: a, values: [{', '.join(f'v{each}' for each in range(25_000))}]}}\n"
        "  - {name: b, values: [i, j]}\n"
        "window: {size: 60s}\nestimates: [{name: all, of: [a]}]\n",
        encoding="utf-8",
    )
    done = check(file)
    assert done.exit_code == 0
    assert done.stderr.startswith(
        f"{file}: warning: how long a solve takes is not measured: it may grow with the cube of the values of an "
        "attribute, and one has more than 1,000\n"
    )


def test_a_collection_whose_solves_are_slow_is_correct_but_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six attributes of four values have 4,096 cells, and every solve is said to take 90 s."""
    monkeypatch.setattr(timing, "measured", lambda work: 90.0 + 0 * bool(work()))
    names = "abcdef"
    file = tmp_path / "wide.yaml"
    file.write_text(
        "collection: wide\nmechanism: {kind: rr-ldp, f: 0.25}\nattributes:\n"
        + "".join(f"  - {{name: {name}, values: [i, j, k, l]}}\n" for name in names)
        + f"window: {{size: 60s}}\nestimates: [{{name: all, of: [{', '.join(names)}], method: em}}]\n",
        encoding="utf-8",
    )
    done = check(file)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{file}: ok: ")
    assert done.stderr == (
        f"{file}: warning: all: with 100,000 reports a solve takes about 90 s, more than 50% of `every`, 2 s: "
        "most provisional answers are skipped\n"
        f"{file}: warning: with 100,000 reports in each window, the solves of a window take about 90 s, and a window "
        "ends every 60 s: finals are later and later\n"
    )


@pytest.mark.parametrize("arguments", [[], ["--strict", "survey.yaml"]])
def test_a_usage_error_exits_with_2_unlike_a_bad_file(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["check", *arguments]).exit_code == 2


def test_a_directory_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.exit_code == 2
    assert "is a directory" in done.stderr


@pytest.mark.parametrize("epsilon", ["100", "1e-12"])
def test_an_epsilon_that_no_probability_can_realise_is_refused_with_its_place(epsilon: str, tmp_path: Path) -> None:
    file = tmp_path / "films.yaml"
    file.write_text(
        f"collection: films\nmechanism: {{kind: gfim, epsilon: {epsilon}, k: 2, set_size: 3}}\n"
        "items: {size: 100}\nwindow: {size: 60s}\n",
        encoding="utf-8",
    )
    done = check(file)
    assert done.exit_code == 1
    assert f"{file}:2:34: mechanism.epsilon: phase 1 has an epsilon of " in done.stderr


def test_check_says_what_is_wrong_where_and_what_would_be_right(towns_file: Path) -> None:
    wrong = towns_file.with_name("wrong.yaml")
    wrong.write_text(TOWNS_TEXT.replace("size: 60s", "sise: 60s"), encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(towns_file), str(wrong)])
    assert done.exit_code == 1
    assert f"{towns_file}: ok: collection survey" in done.stdout
    assert f"{wrong}:8:10: window.sise: unknown key; did you mean 'size'?" in done.stderr
    assert f"{wrong}:8:9: window.size: this key is required" in done.stderr


def test_a_collection_that_takes_too_much_memory_to_count_is_warned_of(tmp_path: Path) -> None:
    """Of 24 attributes of eight values, 276 pairs have a table of 512 KiB each."""
    names = [f"a{number}" for number in range(24)]
    attributes = "".join(f"  - {{name: {name}, values: [{', '.join('abcdefgh')}]}}\n" for name in names)
    pairs = "".join(f"  - {{name: {a}-{b}, of: [{a}, {b}]}}\n" for a, b in combinations(names, 2))
    (file := tmp_path / "wide.yaml").write_text(
        "collection: wide\nmechanism: {kind: rr-ldp, f: 0.5}\nwindow: {size: 60s}\n"
        f"attributes:\n{attributes}estimates:\n{pairs}"
    )
    done = check(file)
    assert done.exit_code == 0
    assert "warning: with 100,000 reports, a pane takes 145.8 MB of memory for each partition: " in done.stderr
    assert "and 270 more, windows of 60 s" in done.stdout


def test_files_are_checked_as_json_with_what_is_wrong_and_where(tmp_path: Path) -> None:
    good, bad = write_survey(tmp_path / "good.yaml"), write_survey(tmp_path / "bad.yaml")
    bad.write_text(bad.read_text().replace("attributes:", "atributes:"))
    result = CliRunner().invoke(app, ["check", "--json", str(good), str(bad)])
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)
    assert (first["file"], first["ok"], first["collection"]) == (str(good), True, "care-survey")
    assert first["warnings"] == []
    assert second["ok"] is False
    assert any(re.match(rf"{re.escape(str(bad))}:\d+:\d+: .*atributes", each) for each in second["problems"])
