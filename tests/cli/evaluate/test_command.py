"""`stream-ldp evaluate`: every kind by one grammar, and what is refused."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.evaluation.experiment import Experiment

#: Two attributes, (0, 0) five times of ten, (0, 1) twice, (1, 2) three times.
PEOPLE = np.array([[0, 0]] * 5 + [[0, 1]] * 2 + [[1, 2]] * 3)
LINES = ["name,bathing,age", *(f"x,{'no' if a == 0 else 'yes'},{b}" for a, b in PEOPLE.tolist())]
VIEWS = "{mechanism: {kind: sampled, epsilon: 1, ask: pairs}, attributes: [bathing, age]}"
JOINT = "{mechanism: {kind: rr-ldp, f: 0.25}, attributes: [bathing, age]}"


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "people.csv", *LINES)


def run(data: Path, *flags: str, text: str = JOINT) -> Result:
    arguments = ["evaluate", "--data", str(data), "--collection", text, *flags]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})


def results(data: Path, *flags: str, text: str = JOINT) -> list[dict[str, Any]]:
    found = run(data, "--json", *flags, text=text)
    assert found.exit_code == 0, found.output
    assert found.stderr == "", "progress on something that is no terminal"
    return json.loads(found.stdout)["results"]  # type: ignore[no-any-return]


def untimed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | {"seconds": 0} for each in found]


def test_a_file_and_its_text_give_the_same(table: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "care.yaml", JOINT)
    arguments = ["evaluate", str(file), "--data", str(table), "--repeats", "2", "--json"]
    found = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert found["settings"] == {"data": "people.csv", "repeats": 2, "seed": 0}
    assert untimed(found["results"]) == untimed(results(table, "--repeats", "2"))


def test_defaults_are_all_records_ten_repeats_and_seed_0(table: Path) -> None:
    (found,) = results(table)
    assert (found["users"], found["repeats"]) == (10, 10)
    assert untimed([found]) == untimed(results(table, "--users", "10", "--repeats", "10", "--seed", "0"))


def test_a_row_has_the_same_numbers_whatever_is_evaluated_beside_it(table: Path) -> None:
    beside = results(table, "--vary", "estimates.0.method=em,lasso", "--repeats", "2")[1]
    (alone,) = results(table, "--vary", "estimates.0.method=lasso", "--repeats", "2")
    assert untimed([beside]) == untimed([alone])


def test_published_forms_are_keys_of_the_file(table: Path) -> None:
    ours, published = (
        results(table, "--vary", f"estimates.0.stop={stop}", "--vary", "estimates.0.method=em,lasso,lremh")
        for stop in ("certificate", "paper")
    )
    assert all(one["metrics"] != other["metrics"] for one, other in zip(ours, published, strict=True))
    coarse = results(table, "--vary", "estimates.0.stop=paper", "--vary", "estimates.0.delta=0.5")
    assert coarse[0]["metrics"]["iterations"] == 1.0


def test_a_gzipped_table_quotes_blank_lines_and_a_byte_order_mark_do_not_change_the_numbers(
    table: Path, tmp_path: Path
) -> None:
    zipped = tmp_path / "people.csv.gz"
    zipped.write_bytes(gzip.compress(table.read_bytes()))
    swapped = [",".join((words := line.split(","))[1:2] + words[:1] + words[2:]) for line in LINES[2:]]
    other = written(tmp_path / "other.csv", "\ufeffbathing,name,age", '"no","a ""b"", c",0', "", *swapped)
    flags = ("--repeats", "1")
    assert untimed(results(zipped, *flags)) == untimed(results(table, *flags)) == untimed(results(other, *flags))


def test_windows_are_compared_by_prior_and_by_the_share_of_returning_users(table: Path) -> None:
    flags = ("--windows", "4", "--repeats", "2", "--users", "60", "--drift-by", "age", "--returning", "0,1")
    found = results(table, *flags, "--vary", "estimates.0.prior=window,temporal")
    assert [each["varied"] for each in found] == [
        {"estimates.0.prior": prior, "returning": share} for share in (0.0, 1.0) for prior in ("window", "temporal")
    ]
    for each in found:
        assert {"avd", "coverage", "width", "last_avd", "last_coverage"} <= set(each["metrics"])


@pytest.mark.parametrize(("text", "distance"), [(JOINT, "before_avd"), (VIEWS, "before_rmse")])
def test_windows_have_the_users_of_their_time(tmp_path: Path, text: str, distance: str) -> None:
    """In the morning nobody bathes, and in the afternoon everybody does; ages are alike."""
    rows = [f"x,{'no' if hour < 12 else 'yes'},{hour % 2},2026-01-0{1 + hour // 12}T03:00Z" for hour in range(24)]
    data = written(tmp_path / "people.csv", "name,bathing,age,when", *rows)
    (found,) = results(data, "--windows", "2", "--time", "when", "--repeats", "2", "--users", "300", text=text)
    assert found["metrics"][distance] > 0.4


def test_random_sets_of_attributes_are_scored_together(table: Path) -> None:
    found = results(table, "--ways", "1,2", "--repeats", "2")
    assert [each["series"] for each in found] == ["1-way", "2-way"]


def test_synthetic_records_are_scored_by_a_label(tmp_path: Path) -> None:
    data = written(tmp_path / "pairs.csv", "a,b,c", *[f"{i % 2},{i % 2},{i % 3}" for i in range(200)])
    text = "mechanism: {kind: sampled, epsilon: 4, ask: pairs}"
    found = results(data, "--label", "a", "--repeats", "1", "--vary", "synthesis.method=auto,tree", text=text)
    assert [each["series"] for each in found] == ["synthetic", "real", "majority"] * 2
    assert found[0]["users"] == 160
    metrics = found[0]["metrics"]
    assert {"structure", "avd2", "avd3", "accuracy", "auc", "accuracy_real"} <= set(metrics)
    assert "avd5" not in metrics


def test_the_users_that_a_distance_takes_are_found_with_their_error(table: Path) -> None:
    (found,) = results(table, "--wanted", "0.1", "--repeats", "5", "--vary", "estimates.0.method=em")
    assert 10 < found["users_needed"] < 1_000
    assert found["users_needed_error"] > 0


def test_what_is_missing_is_a_value_unless_such_rows_are_refused_or_left_out(tmp_path: Path) -> None:
    data = written(tmp_path / "people.csv", "bathing,age", "no,1", ",2", "yes,1", "no,2")
    (own,) = results(data, "--repeats", "1")
    assert own["users"] == 4
    refused = run(data, "--missing", "refuse")
    assert refused.exit_code == 1
    assert "people.csv:3: attribute 'bathing': the value is missing" in refused.stderr
    skipped = run(data, "--missing", "skip", "--repeats", "1", "--json")
    assert json.loads(skipped.stdout)["results"][0]["users"] == 3
    assert skipped.stderr == "1 row without a value, left out\n"


@pytest.mark.parametrize(
    ("lines", "flags", "text", "message"),
    [
        (LINES, (), JOINT.replace("age", "aeg"), "the first line has no column 'aeg'; did you mean 'age'?"),
        (LINES, (), JOINT.replace("age", "name"), "attribute 'name' has the same value in every record"),
        (LINES, (), JOINT.replace("0.25", "1"), "f must be between 0 (no privacy) and 1 (no information)"),
        (LINES, (), JOINT.replace("0.25", "0.25, p: 0.9, q: 0.1"), "must be below q"),
        (LINES, (), "{", "--collection:1:2: not YAML"),
        (LINES, ("--vary", "mechanism.f"), JOINT, "expected a key and its values"),
        (LINES, ("--users", "0"), JOINT, "--users is '0': expected whole numbers of 1 or more"),
        (LINES, ("--users", "1.5"), JOINT, "--users is '1.5': expected whole numbers"),
        (LINES, ("--users", "2,2"), JOINT, "--users is '2,2': give each number once"),
        (LINES, ("--repeats", "0"), JOINT, "'--repeats'"),
        (LINES, ("--seed", "-1"), JOINT, "'--seed'"),
        (LINES, ("--returning", "0"), JOINT, "are for windows: say how many with --windows"),
        (LINES, ("--drift-by", "age"), JOINT, "are for windows: say how many with --windows"),
        (
            LINES,
            ("--windows", "2", "--returning", "1.5"),
            JOINT,
            "--returning is '1.5': expected numbers from 0 to 1",
        ),
        (LINES, ("--windows", "2", "--drift-by", "age"), VIEWS, "of records"),
        (LINES, ("--time", "age"), JOINT, "are for windows: say how many with --windows"),
        (LINES, ("--windows", "2", "--time", "age", "--returning", "0"), JOINT, "--time says who the users"),
        (LINES, ("--windows", "2", "--time", "name"), JOINT, "neither a number nor a date such as"),
        (LINES, ("--windows", "5", "--time", "age"), JOINT, "no row has a time in window 2 of 5: give fewer"),
        (LINES, ("--windows", "2", "--label", "age"), JOINT, "--label measures the synthetic records of one window"),
        (
            LINES,
            ("--windows", "2", "--wanted", "0.1"),
            JOINT,
            "--wanted is a distance, or a quality, between 0 and 1",
        ),
        (LINES, ("--wanted", "1.5"), JOINT, "--wanted is a distance, or a quality, between 0 and 1"),
        (LINES, ("--label", "aeg"), JOINT, "--label 'aeg' is not an attribute; did you mean 'age'?"),
        (LINES, ("--label", "age"), JOINT.replace("bathing, ", ""), "there are none"),
        (LINES, ("--ways", "3"), JOINT, "--ways 3: there are 2 attributes"),
        ([], (), JOINT, "people.csv: no first line with the names of columns"),
        (["bathing,age"], (), JOINT, "people.csv: no records below the header line"),
        (["bathing,age", "0,0", "1"], (), JOINT, "people.csv:3: 1 value for 2 columns"),
        (["bathing,age", "0,0", '1,"2"3'], (), JOINT, "people.csv:3: not CSV"),
        (["bathing,age,bathing", "0,0,0"], (), JOINT, "people.csv: two columns have the name 'bathing'"),
        (["bathing,age", *(f"{i},{i}" for i in range(363))], (), JOINT, "131,769 cells; at most 131,072"),
        ([], (), "{mechanism: {kind: svim, k: 1, epsilon: 1}}", "empty; it needs a user's items on each line"),
        (["1,2"], (), "{mechanism: {kind: svim, k: 1, epsilon: 1}}", "people.csv:1: it has a comma"),
        (["1"], (), "{mechanism: {kind: svim, k: 1, epsilon: 1}}", "the domain has 1 item"),
        (["1 2"], ("--label", "a"), "{mechanism: {kind: svim, k: 1, epsilon: 1}}", "a collection of sets"),
    ],
)
def test_input_that_cannot_be_evaluated_is_refused_with_the_reason(
    tmp_path: Path, lines: list[str], flags: tuple[str, ...], text: str, message: str
) -> None:
    result = run(written(tmp_path / "people.csv", *lines), *flags, text=text)
    assert result.exit_code in {1, 2}, result.output  # 1 for the table and the collection, 2 for an option
    assert not result.stdout
    assert message in result.stderr


def test_the_option_of_a_text_takes_the_path_of_a_file_as_well(table: Path, tmp_path: Path) -> None:
    (file := tmp_path / "care.yaml").write_text(JOINT, encoding="utf-8")
    given = results(table, "--repeats", "1", text=str(file))
    assert [each | {"seconds": 0} for each in given] == [
        each | {"seconds": 0} for each in results(table, "--repeats", "1")
    ]
    assert "care.yam: there is no such file; did you mean 'care.yaml'?" in run(table, text=str(file)[:-1]).stderr


@pytest.mark.parametrize("given", [[], ["care.yaml", "--collection", JOINT]])
def test_either_a_file_or_its_text_is_given(table: Path, given: list[str]) -> None:
    result = CliRunner().invoke(app, ["evaluate", *given, "--data", str(table)])
    assert (result.exit_code, "give either a collection file, or its text" in result.stderr) == (2, True)


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(table: Path, tmp_path: Path) -> None:
    def problem(path: Path) -> str:
        result = run(path)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        return result.stderr

    assert "nowhere.csv: cannot be read: No such file or directory" in problem(tmp_path / "nowhere.csv")
    assert "cannot be read: Is a directory" in problem(tmp_path)
    zipped = gzip.compress(table.read_bytes())
    damaged = {"plain": table.read_bytes(), "short": zipped[:-12], "block": zipped[:10] + b"\xff" + zipped[11:]}
    for name, content in damaged.items():
        (path := tmp_path / f"{name}.csv.gz").write_bytes(content)
        assert f"{name}.csv.gz: its name ends in .gz, but it is not gzip, or damaged or cut short" in problem(path)
    (path := tmp_path / "unnamed.csv").write_bytes(zipped)
    assert "unnamed.csv: not text in UTF-8; the name of a gzipped file must end in .gz" in problem(path)


def test_one_record_is_drawn_again_and_again(tmp_path: Path) -> None:
    data = written(tmp_path / "one.csv", "bathing,age", "no,1")
    text = "{mechanism: {kind: k-rr, epsilon: 4}, attributes: [{name: bathing, values: [no, yes]}]}"
    (found,) = results(data, "--users", "50", "--repeats", "2", text=text)
    assert found["users"] == 50
    alone = run(data, "--label", "bathing", text=text.replace("]}", "]}, {name: age, values: ['1', '2']}", 1))
    assert alone.exit_code == 2
    assert "a table of 2 rows or more" in alone.stderr


def test_ctrl_c_keeps_the_rows_so_far(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second row after one of its repeats."""
    every = Experiment.repeats
    begun = []

    def interrupted(self: Experiment, count: int, **options: Any) -> Iterator[Any]:
        begun.append(self)
        for number, each in enumerate(every(self, count, **options)):
            if len(begun) == 2 and number == 1:
                raise KeyboardInterrupt
            yield each

    monkeypatch.setattr(Experiment, "repeats", interrupted)
    result = run(table, "--vary", "mechanism.f=0.25,0.5,0.75", "--repeats", "3", "--json")
    assert result.exit_code == 130
    assert [(each["varied"]["mechanism.f"], each["repeats"]) for each in json.loads(result.stdout)["results"]] == [
        (0.25, 3),
        (0.5, 1),
    ]


def test_users_are_asked_about_a_label_with_each_other_attribute_unless_the_file_says_more(tmp_path: Path) -> None:
    data = written(tmp_path / "pairs.csv", "a,b,c", *[f"{i % 2},{i % 2},{i % 3}" for i in range(200)])
    own, star = (
        results(data, "--label", "a", "--repeats", "1", text=f"mechanism: {{kind: sampled, epsilon: 4{ask}}}")
        for ask in ("", ", ask: {with: a}")
    )
    assert [each["metrics"] for each in own] == [each["metrics"] for each in star]
