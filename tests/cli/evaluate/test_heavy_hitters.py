"""`stream-ldp evaluate heavy-hitters`: the settings that determine the numbers, and what is refused."""

from __future__ import annotations

import gzip
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.cli.evaluate.heavy_hitters import heavy_hitters
from stream_ldp.sets.methods import METHODS

SETS = ["1 2 3", "1 2", "1", "", "10 2 1", "3 1", "1 9", "2"] * 25


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    return _written(tmp_path / "sets.txt", *SETS)


def _written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _run(data: Path, *flags: str, k: str = "2", epsilon: str = "2") -> Result:
    arguments = ["evaluate", "heavy-hitters", "--data", str(data), "--k", k, "--epsilon", epsilon, *flags]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})


def _json(data: Path, *flags: str, **changes: Any) -> dict[str, Any]:
    result = _run(data, "--json", *flags, **changes)
    assert result.exit_code == 0, result.output
    assert result.stderr == "", "progress on something that is no terminal"
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def _untimed(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in each.items() if not name.startswith("seconds")}
        for each in document["results"]
    ]


def test_the_json_gives_every_setting_that_determines_the_numbers(sets: Path) -> None:
    flags = (
        "--repeats",
        "3",
        "--users",
        "400",
        "--seed",
        "7",
        "--k-max",
        "4",
        "--finalists",
        "3",
        "--hash-bits",
        "1",
    )
    document = _json(sets, *flags, "--combine", "paper", "--set-size", "2", k="2,3", epsilon="1,2.5")
    assert document["settings"] == {
        "data": "sets.txt",
        "items": 5,
        "users": 400,
        "repeats": 3,
        "seed": 7,
        "methods": ["gfim", "gfim-users", "ldpminer", "svim"],
        "k": [2, 3],
        "epsilon": [1.0, 2.5],
        "set_size": 2,
        "k_max": 4,
        "finalists": 3,
        "combine": "paper",
        "hash_bits": 1,
        "for_ever": None,
    }
    assert list(document) == ["settings", "results"]
    assert [(each["k"], each["epsilon"], each["method"]) for each in document["results"]] == [
        (k, epsilon, kind) for k in (2, 3) for epsilon in (1.0, 2.5) for kind in METHODS if kind != "loloha"
    ]
    for each in document["results"]:
        metrics = ["ndcg", "re", "f1", "mse", "coverage", "seconds"]
        pairs = [name for metric in metrics for name in (metric, f"{metric}_sd")]
        assert list(each) == ["method", "epsilon", "k", *pairs]
        assert all(0.0 <= each[name] <= 1.0 for name in ("ndcg", "f1", "mse"))
        assert each["seconds"] > 0.0


def test_defaults_are_all_lines_ten_repeats_seed_0_and_a_set_size_for_nine_in_ten(sets: Path) -> None:
    settings = _json(sets, "--methods", "svim")["settings"]
    assert (settings["users"], settings["repeats"], settings["seed"]) == (200, 10, 0)
    assert settings["set_size"] == 3
    assert [settings[name] for name in ("k_max", "finalists", "combine", "hash_bits")] == [None] * 4


def test_set_size_0_leaves_it_out_and_is_refused_where_no_later_phase_tells_frequencies(sets: Path) -> None:
    document = _json(sets, "--methods", "svim", "--set-size", "0")
    assert document["settings"]["set_size"] is None
    assert _untimed(document) != _untimed(_json(sets, "--methods", "svim"))
    result = _run(sets, "--methods", "loloha", "--set-size", "0")
    assert (result.exit_code, "loloha needs set_size" in result.stderr) == (2, True)


def test_the_seed_determines_every_number_but_the_seconds(sets: Path) -> None:
    assert _untimed(_json(sets, "--seed", "1")) == _untimed(_json(sets, "--seed", "1"))
    assert _untimed(_json(sets, "--seed", "1")) != _untimed(_json(sets, "--seed", "2"))


def test_a_method_has_the_same_numbers_whatever_is_evaluated_beside_it(sets: Path) -> None:
    beside = [
        each for each in _untimed(_json(sets, epsilon="1,2")) if each["method"] == "svim" and each["epsilon"] == 2
    ]
    assert beside == _untimed(_json(sets, "--methods", "svim"))


def test_with_hardly_any_noise_the_heavy_hitters_are_found(tmp_path: Path) -> None:
    """Seeded. 2,000 users with one item each: 60, 30 and 10 % of them."""
    data = _written(tmp_path / "singles.txt", *["b"] * 60, *["a"] * 30, *["c"] * 10)
    for each in _json(data, "--users", "2000", "--repeats", "2", epsilon="15")["results"]:
        assert (each["ndcg"], each["f1"]) == (1.0, 1.0)
        assert each["re"] < 0.1
        assert each["mse"] < 0.002


def test_gzipped_files_and_items_named_by_words_give_the_same_numbers(sets: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "sets.txt.gz"
    zipped.write_bytes(gzip.compress(sets.read_bytes()))
    assert _untimed(_json(zipped)) == _untimed(_json(sets))
    # Items are numbered in the order of their names; 1, 2, 3, 9, 10 is that of a, b, c, d, e.
    words = dict(zip(("1", "2", "3", "9", "10"), "abcde", strict=True))
    named = _written(tmp_path / "named.txt", *("\t".join(words[item] for item in line.split()) for line in SETS))
    assert _untimed(_json(named)) == _untimed(_json(sets))


def test_an_empty_line_is_a_user_who_holds_nothing(tmp_path: Path) -> None:
    data = _written(tmp_path / "half.txt", *["1 2", ""] * 50)
    document = _json(data, "--methods", "gfim", "--users", "4000", "--repeats", "2", epsilon="15")
    assert document["settings"]["users"] == 4000
    assert document["results"][0]["re"] < 0.1  # of one half, not of all


def test_the_table_shows_every_method_with_its_numbers(sets: Path) -> None:
    result = _run(sets, "--k-max", "4")
    assert result.exit_code == 0, result.output
    assert "sets.txt: 5 items; 200 users, repeats: 10; set-size 3, k-max 4." in result.stdout
    rows = {words[0]: words for line in result.stdout.splitlines() if len(words := line.split()) == 11}
    assert rows["method"] == ["method", "k", "epsilon", "ndcg", "sd", "re", "sd", "f1", "mse", "coverage", "seconds"]
    for each in _json(sets, "--k-max", "4")["results"]:
        shown = rows[each["method"]]
        numbers = [each["ndcg"], each["ndcg_sd"], each["re"], each["re_sd"], each["f1"]]
        assert shown[1:8] == ["2", "2.000", *(f"{number:.3f}" for number in numbers)]
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("lines", "flags", "message"),
    [
        ([], (), "sets.txt: empty; it needs a user's items on each line"),
        (["", ""], (), "sets.txt: 0 different items; a ranking needs at least two"),
        (["1", "1 1"], (), "sets.txt: 1 different item; a ranking needs at least two"),
        (["1 2", "1,2"], (), "sets.txt:2: it has a comma, but the items of a line are separated by blanks"),
        (SETS, ("--k", "6"), "k is 6; from 1 to the 5 items of the domain"),
        (SETS, ("--k", "ten"), "--k is 'ten': expected whole numbers, separated by commas"),
        (SETS, ("--k", "2,2"), "--k is '2,2': give each number once"),
        (SETS, ("--epsilon", "1,x"), "--epsilon is '1,x': expected numbers, separated by commas"),
        (SETS, ("--epsilon", "1,1.0"), "--epsilon is '1,1.0': give each number once"),
        (SETS, ("--epsilon", "0"), "epsilon is 0.0; a positive number"),
        (SETS, ("--methods", "gfin"), "'gfin' is not a method; did you mean 'gfim'?"),
        (SETS, ("--methods", "svim,svim"), "method 'svim' is given twice in svim,svim"),
        (SETS, ("--methods", "svim", "--finalists", "3"), "--finalists means nothing to svim: leave it out"),
        (SETS, ("--k-max", "1"), "k_max is 1; from k, 2, to the 5 items of the domain"),
        (SETS, ("--set-size", "6"), "set_size is 6; from 1 to the 5 items of the domain"),
        (SETS, ("--hash-bits", "9"), "hash_bits is 9; from 1 (sampling SH) to 8"),
        (SETS, ("--combine", "mean"), "'--combine'"),
        (SETS, ("--users", "0"), "'--users'"),
    ],
)
def test_input_that_cannot_be_evaluated_is_refused_with_the_reason(
    tmp_path: Path, lines: list[str], flags: tuple[str, ...], message: str
) -> None:
    result = _run(_written(tmp_path / "sets.txt", *lines), *flags)
    assert (result.exit_code, result.stdout) == (1 if "sets.txt" in message else 2, ""), result.output
    assert message in " ".join(result.stderr.split())


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(sets: Path, tmp_path: Path) -> None:
    for name, content, message in (
        ("plain.txt.gz", sets.read_bytes(), "its name ends in .gz, but it is not gzip, or damaged or cut short"),
        (
            "zipped.txt",
            gzip.compress(sets.read_bytes()),
            "not text in UTF-8; the name of a gzipped file must end in .gz",
        ),
    ):
        (path := tmp_path / name).write_bytes(content)
        result = _run(path)
        assert (result.exit_code, message in result.stderr) == (1, True), result.output
    result = _run(tmp_path / "nowhere.txt")
    assert (result.exit_code, "nowhere.txt: cannot be read" in result.stderr) == (1, True)


def test_every_option_of_a_method_but_its_split_is_a_flag() -> None:
    options = {option for spec in METHODS.values() for option in spec.model_fields}
    assert options - {"kind", "split"} <= inspect.signature(heavy_hitters).parameters.keys()


def test_a_method_that_memoises_is_measured_where_it_is_asked_for(sets: Path) -> None:
    document = _json(sets, "--methods", "loloha", "--for-ever", "9", epsilon="4")
    assert [(each["method"], each["epsilon"]) for each in document["results"]] == [("loloha", 4.0)]


def test_every_option_of_a_method_says_in_the_help_what_it_is() -> None:
    result = CliRunner().invoke(app, ["evaluate", "heavy-hitters", "--help"], env={"COLUMNS": "200"})
    for flag in ("--set-size", "--k-max", "--finalists", "--combine", "--hash-bits", "--for-ever"):
        (line,) = [each for each in result.stdout.splitlines() if f" {flag} " in each]
        assert not line.strip(" │").split(maxsplit=2)[2].startswith("."), line
