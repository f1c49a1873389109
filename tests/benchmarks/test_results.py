"""Every number in the tables of the benchmarks is in the output of their commands."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.benchmarks.measured import RESULTS, documents, shown
from tests.paths import REPOSITORY

TEXT = (REPOSITORY / "tests" / "benchmarks" / "README.md").read_text(encoding="utf-8")

#: What a section's tables do not say themselves.
SECTIONS = {
    "Mushroom, k = 10": ("mushroom.txt.gz", {"k": 10}),
    "Mushroom, epsilon = 3": ("mushroom.txt.gz", {"epsilon": 3}),
    "Zipf, k = 32": ("zipf.txt.gz", {"k": 32}),
}


def section(title: str) -> str:
    return TEXT.split(f"### {title}\n")[1].split("\n### ")[0]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_table_has_the_numbers_that_were_measured(title: str) -> None:
    data, fixed = SECTIONS[title]
    tables = re.findall(r"^\| (\w+) at (\w+) \|(.*)\n.*\n((?:\| .*\n)+)", section(title), flags=re.MULTILINE)
    assert len(tables) >= 2
    for measure, axis, values, rows in tables:
        lines = [cells(row) for row in rows.splitlines()]
        assert len(lines) == 8
        for method, *numbers in lines:
            asked = [{**fixed, axis: float(value)} for value in cells(values)]
            assert numbers == [
                shown(measure.lower(), data=data, method=method, k=int(each["k"]), epsilon=float(each["epsilon"]))
                for each in asked
            ], (measure, method)


@pytest.mark.parametrize("title", SECTIONS)
def test_the_command_of_a_section_is_the_one_that_was_run(title: str) -> None:
    data, _ = SECTIONS[title]
    (command,) = re.findall(r"^    stream-ldp (evaluate heavy-hitters .*)$", section(title), flags=re.MULTILINE)
    words = shlex.split(command)[2:]
    flags = dict(zip(words[::2], words[1::2], strict=True))
    assert flags.pop("--data") == data
    users = int(flags.pop("--users", 400_000))
    asked = {name: [float(number) for number in flags[f"--{name}"].split(",")] for name in ("k", "epsilon")}
    run = [
        each["settings"]
        for each in documents()
        if each["settings"]["data"] == data and {name: each["settings"][name] for name in asked} == asked
    ]
    assert sorted(each["methods"] for each in run) == [
        ["gfim", "gfim-users", "ldpminer"],
        ["gfim", "gfim-users", "ldpminer", "svim"],
        ["svim"],
    ]
    assert {(each["users"], each["repeats"], each["seed"]) for each in run} == {(users, 10, 0)}


def test_every_output_belongs_to_a_section() -> None:
    assert len(documents()) == len(list(RESULTS.iterdir())) == 3 * len(SECTIONS)
