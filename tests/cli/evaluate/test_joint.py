"""`stream-ldp evaluate joint`: the settings that determine the numbers, and what is refused."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.mechanisms import RRLDP

#: Two attributes, (0, 0) five times of ten, (0, 1) twice, (1, 2) three times.
PEOPLE = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 2]] * 3)

LINES = ["name,bathing,age", *(f"x,{'no' if a == 0 else 'yes'},{b}" for a, b in PEOPLE.tolist())]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return _written(tmp_path / "people.csv", *LINES)


def _written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _run(data: Path, *flags: str, of: str = "bathing,age", f: float = 0.25) -> Result:
    arguments = ["evaluate", "joint", "--data", str(data), "--of", of, "--f", str(f), *flags]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})


def _json(data: Path, *flags: str, **changes: Any) -> dict[str, Any]:
    result = _run(data, "--json", *flags, **changes)
    assert result.exit_code == 0, result.output
    assert result.stderr == "", "progress on something that is no terminal"
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def _evaluated(data: Path, *flags: str) -> Result:
    arguments = ["evaluate", "joint", "--data", str(data), "--of", "bathing,age", "--users", "500", *flags]
    return CliRunner().invoke(app, [*arguments, "--repeats", "2", "--methods", "em"], env={"COLUMNS": "300"})


def test_a_mechanism_in_one_word_and_its_flags_give_the_same(table: Path) -> None:
    """All numbers but the seconds."""
    flags = _evaluated(table, "--f", "0.25", "--p", "0.25", "--q", "0.75", "--json")
    word = _evaluated(table, "--mechanism", "rr-ldp:f=0.25,p=0.25,q=0.75", "--json")
    (one,), (other,) = (json.loads(each.stdout)["results"] for each in (flags, word))
    assert one | {"seconds": 0} == other | {"seconds": 0}


def test_any_mechanism_for_records_can_be_evaluated(table: Path) -> None:
    found = json.loads(_evaluated(table, "--mechanism", "k-rr:epsilon=2", "--json").stdout)
    assert found["settings"]["mechanism"] == {"kind": "k-rr", "epsilon": 2.0}
    assert found["settings"]["epsilon_per_report"] == pytest.approx(4.0, abs=1e-6)
    (score,) = found["results"]
    assert 0 < score["avd"] < 0.5
    assert score["certified"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "say how reports are perturbed: either by --mechanism, or by --f"),
        (("--mechanism", "k-rr:epsilon=2", "--f", "0.5"), "say how reports are perturbed"),
        (("--mechanism", "k-rr:epsilon=-2"), "greater than 0\n  -> write it like k-rr:epsilon=2\n"),
        (("--mechanism", "k-rr"), "not a mechanism; write it like k-rr:epsilon=2\n"),
        (("--mechanism", "hadamard:size=8"), "'hadamard' is no mechanism here; known are rr-ldp, k-rr"),
    ],
)
def test_a_mechanism_that_is_not_said_or_wrong_ends_the_command(
    table: Path, flags: tuple[str, ...], message: str
) -> None:
    result = _evaluated(table, *flags)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_json_gives_every_setting_that_determines_the_numbers(table: Path) -> None:
    document = _json(table, "--repeats", "2", "--users", "30", "--seed", "7", "--p", "0.1", "--q", "0.9")
    mechanism = RRLDP(sizes=(2, 3), f=0.25, p=0.1, q=0.9)
    assert document["settings"] == {
        "data": "people.csv",
        "of": ["bathing", "age"],
        "sizes": [2, 3],
        "cells": 6,
        "f": 0.25,
        "p": 0.1,
        "q": 0.9,
        "users": 30,
        "repeats": 2,
        "seed": 7,
        "methods": ["em", "lasso", "lremh"],
        "stop": "certificate",
        "delta": 0.001,
        "epsilon_per_report": mechanism.epsilon(),
        "epsilon_for_ever": mechanism.epsilon(reports=math.inf),
    }
    assert list(document) == ["settings", "results"]
    assert [each["method"] for each in document["results"]] == ["em", "lasso", "lremh"]
    for each in document["results"]:
        assert list(each) == ["method", "stop", "avd", "avd_sd", "coverage", "seconds", "iterations", "certified"]
        assert each["stop"] == "certificate"
        assert isinstance(each["certified"], bool)
        assert 0.0 < each["avd"] < 1.0
        assert each["avd_sd"] > 0.0
        assert 0.0 <= each["coverage"] <= 1.0
        assert each["seconds"] > 0.0


def test_defaults_are_all_records_ten_repeats_seed_0_and_no_instantaneous_response(table: Path) -> None:
    settings = _json(table)["settings"]
    assert (settings["users"], settings["repeats"], settings["seed"]) == (10, 10, 0)
    assert (settings["p"], settings["q"]) == (None, None)


def test_methods_run_in_the_requested_order_with_the_requested_stop_and_delta(table: Path) -> None:
    fine = _json(table, "--methods", "lremh,em", "--stop", "paper", "--repeats", "1", "--delta", "1e-9")
    assert [(each["method"], each["stop"]) for each in fine["results"]] == [("lremh", "paper"), ("em", "paper")]
    assert [each["avd_sd"] for each in fine["results"]] == [0.0, 0.0]
    coarse = _json(table, "--methods", "em", "--stop", "paper", "--repeats", "1", "--delta", "0.5")
    assert coarse["settings"]["delta"] == 0.5
    assert coarse["results"][0]["iterations"] == 1.0 < fine["results"][1]["iterations"]


def _untimed(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "seconds"} for each in document["results"]]


def test_the_seed_determines_every_number_but_the_seconds(table: Path) -> None:
    flags = ("--repeats", "2", "--methods", "em,lasso", "--seed")
    assert _untimed(_json(table, *flags, "1")) == _untimed(_json(table, *flags, "1"))
    assert _untimed(_json(table, *flags, "1")) != _untimed(_json(table, *flags, "2"))


def test_with_hardly_any_noise_the_truth_is_found(table: Path) -> None:
    # The expected number of inverted bits, of 10 reports of 5, is 0.025; this seed inverts none.
    flags = ("--stop", "paper", "--delta", "1e-6", "--repeats", "1", "--methods", "em")
    assert _json(table, *flags, f=0.001)["results"][0]["avd"] < 1e-3


def test_a_gzipped_table_gives_the_same_numbers(table: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "people.csv.gz"
    zipped.write_bytes(gzip.compress(table.read_bytes()))
    flags = ("--repeats", "1", "--methods", "em")
    assert _untimed(_json(zipped, *flags)) == _untimed(_json(table, *flags))


@pytest.mark.parametrize(
    ("values", "order"), [(["10", "9", "-1"], ["-1", "9", "10"]), (["10", "9", "b"], ["10", "9", "b"])]
)
def test_integers_are_ordered_as_numbers_and_all_other_values_as_text(
    tmp_path: Path, values: list[str], order: list[str]
) -> None:
    # Noise is drawn by the place of a value: tables that differ by names in the same order have the same results.
    places = [order.index(value) for value in values for _ in range(3)]
    given = _written(tmp_path / "given.csv", "a", *(value for value in values for _ in range(3)))
    named = _written(tmp_path / "named.csv", "a", *("xyz"[place] for place in places))
    flags = ("--repeats", "3", "--users", "5", "--methods", "em")
    assert _untimed(_json(given, *flags, of="a", f=0.5)) == _untimed(_json(named, *flags, of="a", f=0.5))


def test_quotes_blank_lines_and_a_byte_order_mark_do_not_change_the_numbers(tmp_path: Path, table: Path) -> None:
    other = _written(
        tmp_path / "other.csv", "\ufeffbathing,name,age", '"no","a ""b"", c",0', "", *_swapped(LINES[2:])
    )
    flags = ("--repeats", "1", "--methods", "em")
    assert _untimed(_json(other, *flags)) == _untimed(_json(table, *flags))


def _swapped(lines: list[str]) -> Iterator[str]:
    for line in lines:
        name, bathing, age = line.split(",")
        yield f"{bathing},{name},{age}"


def test_the_table_shows_every_method_with_cells_and_epsilon(table: Path) -> None:
    result = _run(table, "--repeats", "2", "--p", "0.1", "--q", "0.9")
    assert result.exit_code == 0, result.output
    assert "people.csv: bathing, age: 6 cells; 10 users, repeats: 2, stop: certificate." in result.stdout
    mechanism = RRLDP(sizes=(2, 3), f=0.25, p=0.1, q=0.9)
    report = math.ceil(mechanism.epsilon() * 1000) / 1000
    for_ever = math.ceil(mechanism.epsilon(reports=math.inf) * 1000) / 1000
    assert f"{report:.3f} a report, {for_ever:.3f} for ever" in result.stdout
    rows = {words[0]: words for line in result.stdout.splitlines() if len(words := line.split()) == 7}
    assert rows["method"] == ["method", "distance", "sd", "coverage", "seconds", "iterations", "certified"]
    expected = _json(table, "--repeats", "2", "--p", "0.1", "--q", "0.9")["results"]
    for each in expected:
        shown = rows[each["method"]]
        assert shown[1:4] == [f"{each['avd']:.4f}", f"{each['avd_sd']:.4f}", f"{each['coverage']:.3f}"]
        assert shown[5:] == [f"{each['iterations']:,.1f}", "yes" if each["certified"] else "no"]
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("lines", "flags", "of", "message"),
    [
        (LINES, (), "bathing,aeg", "the first line has no column 'aeg'; did you mean 'age'?"),
        (LINES, (), "bathing,zzz", "the first line has no column 'zzz'"),
        (LINES, (), "age,age", "attribute 'age' is given twice in age,age"),
        (LINES, (), "name,age", "attribute 'name' has the same value in every record; it needs at least two"),
        (LINES, ("--methods", "em,laso"), "bathing,age", "'laso' is not a method; did you mean 'lasso'?"),
        (LINES, ("--methods", "em,em"), "bathing,age", "method 'em' is given twice in em,em"),
        (
            LINES,
            ("--f", "1"),
            "bathing,age",
            "f must be between 0 (no privacy) and 1 (no information), both excluded",
        ),
        (
            LINES,
            ("--f", "0"),
            "bathing,age",
            "f must be between 0 (no privacy) and 1 (no information), both excluded",
        ),
        (LINES, ("--p", "0.1"), "bathing,age", "p and q belong together"),
        (LINES, ("--p", "0.9", "--q", "0.1"), "bathing,age", "must be below q"),
        (LINES, ("--delta", "0"), "bathing,age", "delta must be positive, got 0"),
        (LINES, ("--users", "0"), "bathing,age", "'--users'"),
        (LINES, ("--repeats", "0"), "bathing,age", "'--repeats'"),
        (LINES, ("--seed", "-1"), "bathing,age", "'--seed'"),
        (LINES, ("--stop", "soon"), "bathing,age", "'--stop'"),
        ([], (), "a", "people.csv: no first line with the names of columns"),
        (["a,b"], (), "a,b", "people.csv: no records below the header line"),
        (["a,b", "0,0", "1"], (), "a,b", "people.csv:3: 1 value for 2 columns"),
        (["a,b", "0,0", "1,2,3"], (), "a,b", "people.csv:3: 3 values for 2 columns"),
        (["a,b", "0,0", '1,"2"3'], (), "a,b", "people.csv:3: not CSV"),
        (["a,b,a", "0,0,0"], (), "a,b", "people.csv: two columns have the name 'a'"),
        (
            ["a,b", *(f"{i},{i}" for i in range(363))],
            (),
            "a,b",
            "--of a,b: 131,769 cells; at most 131,072 can be solved",
        ),
    ],
)
def test_input_that_cannot_be_evaluated_is_refused_with_the_reason(
    tmp_path: Path, lines: list[str], flags: tuple[str, ...], of: str, message: str
) -> None:
    result = _run(_written(tmp_path / "people.csv", *lines), *flags, of=of)
    assert result.exit_code in {1, 2}, result.output  # 1 for the table, 2 for an option
    assert not result.stdout
    assert message in result.stderr


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(table: Path, tmp_path: Path) -> None:
    def problem(path: Path) -> str:
        result = _run(path)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        return result.stderr

    assert "nowhere.csv: cannot be read: No such file or directory" in problem(tmp_path / "nowhere.csv")
    assert "cannot be read: Is a directory" in problem(tmp_path)
    zipped = gzip.compress(table.read_bytes())
    damaged = {
        "plain": table.read_bytes(),
        "short": zipped[:-12],
        "checksum": zipped[:-8] + bytes(8),
        "block": zipped[:10] + b"\xff" + zipped[11:],
    }
    for name, content in damaged.items():
        (path := tmp_path / f"{name}.csv.gz").write_bytes(content)
        assert f"{name}.csv.gz: its name ends in .gz, but it is not gzip, or damaged or cut short" in problem(path)
    (path := tmp_path / "unnamed.csv").write_bytes(zipped)
    assert "unnamed.csv: not text in UTF-8; the name of a gzipped file must end in .gz" in problem(path)


def test_dependence_between_attributes_is_found(tmp_path: Path) -> None:
    """Two answers that agree in 9 of 10 records: the product of the marginals is at 0.4 from the truth.

    Seeded. The sampling error of 5,000 reports at f = 0.5 is near 0.02 (each of 4 cells has one near 0.01).
    """
    rng = np.random.default_rng(5)
    first = rng.integers(2, size=5000)
    second = np.where(rng.random(5000) < 0.9, first, 1 - first)
    lines = (f"{a},{b}" for a, b in zip(first.tolist(), second.tolist(), strict=True))
    data = _written(tmp_path / "pairs.csv", "a,b", *lines)
    for each in _json(data, "--repeats", "3", of="a,b", f=0.5)["results"]:
        assert each["avd"] < 0.1
        assert each["certified"]


WINDOWS = ("--windows", "4", "--repeats", "2", "--users", "60")


def test_windows_are_compared_by_prior_and_by_the_share_of_returning_users(table: Path) -> None:
    document = _json(table, *WINDOWS, "--returning", "0,0.5,1", "--drift-by", "age", "--priors", "temporal,window")
    assert document["settings"]["windows"] == 4
    assert document["settings"]["drift_by"] == "age"
    assert document["settings"]["methods"] == ["em"]
    assert [(each["prior"], each["returning"]) for each in document["results"]] == [
        (prior, returning) for returning in (0.0, 0.5, 1.0) for prior in ("temporal", "window")
    ]
    for each in document["results"]:
        assert list(each) == ["prior", "returning", "avd", "coverage", "seconds", "last_avd", "last_coverage"]
        assert 0.0 < each["avd"] < 1.0
        assert 0.0 <= each["coverage"] <= 1.0


def test_windows_compare_all_priors_with_new_users_and_no_drift_by_default(table: Path) -> None:
    document = _json(table, *WINDOWS)
    assert document["settings"]["drift_by"] is None
    assert [(each["prior"], each["returning"]) for each in document["results"]] == [
        ("window", 0.0),
        ("temporal", 0.0),
    ]
    shown = _run(table, *WINDOWS).stdout
    assert "60 users in each of 4 windows, repeats: 2, stop: certificate." in shown
    for each in document["results"]:
        assert re.search(rf"{each['prior']} +0 +{each['avd']:.4f} +{each['coverage']:.3f} ", shown)


def test_linked_reports_are_compared_with_pooled_ones(table: Path) -> None:
    document = _json(
        table, *WINDOWS, "--linked", "--priors", "window", "--p", "0.25", "--q", "0.75", "--returning", "1"
    )
    assert [each["prior"] for each in document["results"]] == ["window", "pooled", "linked"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--returning", "1"),
            "--returning, --drift-by, --priors and --linked compare windows: say how many with --windows",
        ),
        ((*WINDOWS, "--returning", "half"), "--returning: 'half' is not a number; write shares such as 0,0.5,1"),
        ((*WINDOWS, "--returning", "1.5"), "--returning: 1.5 is not a share, which is from 0 to 1"),
        ((*WINDOWS, "--priors", "temporl"), "'temporl' is not a prior; did you mean 'temporal'?"),
        ((*WINDOWS, "--returning", "0,0.0"), "--returning: 0.0 is given twice in 0,0.0: give it once"),
        (
            (*WINDOWS, "--methods", "em,lasso,lremh"),
            "--windows compares priors of one method, got --methods em,lasso",
        ),
        ((*WINDOWS, "--returning", ""), "--returning: '' is not a number; write shares such as 0,0.5,1"),
        (("--windows", "2000000000"), "less than or equal to 10080"),
        ((*WINDOWS, "--methods", "em,lremh"), "--windows compares priors of one method, got --methods em,lremh"),
        (
            (*WINDOWS, "--methods", "lasso"),
            "--priors temporal needs method em or lremh, and stop certificate, got lasso and certificate",
        ),
        ((*WINDOWS, "--linked"), "--linked needs rr-ldp with p and q"),
        ((*WINDOWS, "--drift-by", "agee"), "has no column 'agee'; did you mean 'age'?"),
    ],
)
def test_what_cannot_be_compared_over_windows_ends_the_command(
    table: Path, flags: tuple[str, ...], message: str
) -> None:
    result = _run(table, *flags)
    assert result.exit_code in {1, 2}  # 1 for the table, 2 for an option
    assert message in result.stderr


def test_the_users_needed_for_a_wanted_distance_are_found_with_every_method(table: Path) -> None:
    flags = ("--repeats", "3", "--users", "200", "--methods", "em,lremh", "--wanted", "0.1")
    document = _json(table, *flags)
    assert document["settings"]["wanted"] == 0.1
    shown = _run(table, *flags).stdout
    for each in document["results"]:
        number = each["users_needed"]
        reached = _json(table, "--repeats", "10", "--seed", "5", "--users", str(number), "--methods", each["method"])[
            "results"
        ][0]
        assert reached["avd"] == pytest.approx(0.1, rel=0.4)
        needs = f"{each['method']} needs {number:,} ± {each['users_needed_error']:,} users for a distance of 0.1."
        assert needs in shown


@pytest.fixture
def of_one_factor(tmp_path: Path) -> Path:
    """2,000 records of eight attributes that a hidden coin makes dependent."""
    rng = np.random.default_rng(1)
    coin = rng.random((2_000, 1)) < 0.5
    records = np.where(rng.random((2_000, 8)) < 0.9, coin, ~coin).astype(int)
    names = ",".join(f"a{number}" for number in range(8))
    return _written(tmp_path / "factor.csv", names, *(",".join(map(str, each)) for each in records.tolist()))


def test_further_attributes_tell_of_the_estimated_ones_what_they_have_in_common(of_one_factor: Path) -> None:
    """Of 4 repeats, on the mean, the distance is .05 where they do, and .16 where they do not."""
    noise, of = ("--p", "0.3", "--q", "0.7", "--users", "4000", "--repeats", "4"), {"of": "a1,a0", "f": 0.5}
    alone, among = (_json(of_one_factor, *noise, *flags, **of) for flags in ((), ("--among", "a2,a3,a4,a5,a6,a7,a0")))
    assert [each["method"] for each in among["results"]] == ["em"]
    assert among["settings"]["among"] == ["a2", "a3", "a4", "a5", "a6", "a7"]
    assert among["settings"]["cells"] == alone["settings"]["cells"] == 4
    assert among["results"][0]["avd"] < 0.8 * alone["results"][0]["avd"]


def test_further_attributes_tell_of_every_window_whatever_its_prior(of_one_factor: Path) -> None:
    """Of 20 series of windows, the distance is .057 and .037 where they do, and .109 and .047 where they do not."""
    noise, of = ("--p", "0.3", "--q", "0.7", "--users", "4000", "--repeats", "1"), {"of": "a1,a0", "f": 0.5}
    alone, among = (
        _json(of_one_factor, *noise, "--windows", "12", "--seed", "1", *flags, **of)
        for flags in ((), ("--among", "a2,a3,a4,a5,a6,a7"))
    )
    assert among["settings"]["among"] == ["a2", "a3", "a4", "a5", "a6", "a7"]
    assert [each["prior"] for each in among["results"]] == ["window", "temporal"]
    for one, other in zip(alone["results"], among["results"], strict=True):
        assert other["avd"] < 0.9 * one["avd"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--among", "a2", "--windows", "4", "--linked", "--p", "0.3", "--q", "0.7"),
            "reports that are linked tell of no hidden factor: leave --among or --linked out",
        ),
        (("--among", "a0"), "--of and --among are 3 to 32 attributes together, got 2"),
        (("--among", "a2", "--methods", "lasso"), "--among needs --methods em or lremh, and --stop certificate"),
        (("--among", "a9"), "has no column 'a9'"),
    ],
)
def test_further_attributes_that_tell_nothing_end_the_command(
    of_one_factor: Path, flags: tuple[str, ...], told: str
) -> None:
    result = _run(of_one_factor, *flags, of="a0,a1")
    assert result.exit_code in {1, 2}  # 1 for the table, 2 for an option
    assert told in result.stderr


def test_among_the_estimated_attributes_alone_there_is_nothing_further_to_report(of_one_factor: Path) -> None:
    """They were estimated as if nothing had been said."""
    result = _run(of_one_factor, "--among", "a1,a0", of="a0,a1,a2")
    assert result.exit_code == 2
    assert "--among names no further column than --of" in result.stderr


def test_the_text_names_the_further_attributes_whose_reports_cost_epsilon_too(of_one_factor: Path) -> None:
    result = _run(of_one_factor, "--among", "a2,a3", "--users", "50", "--repeats", "1", of="a0,a1")
    assert "a0, a1 among a2, a3: 4 cells" in result.stdout


@pytest.mark.parametrize("flags", [("--wanted", "0"), ("--wanted", "1.5"), (*WINDOWS, "--wanted", "0.1")])
def test_a_wanted_distance_that_is_none_ends_the_command(table: Path, flags: tuple[str, ...]) -> None:
    result = _run(table, *flags)
    assert result.exit_code == 2
    assert "--wanted is a distance between 0 and 1, of one window" in result.stderr
