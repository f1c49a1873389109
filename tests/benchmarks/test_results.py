"""Every number in the tables of the benchmarks is in the output of their commands."""

import itertools
import re
import shlex

import pytest
import yaml

from stream_ldp.cli.evaluate.cases import plain, read_varied
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
    data, fixed = SECTIONS[title]
    (command,) = re.findall(r"^    stream-ldp (evaluate .*)$", section(title), flags=re.MULTILINE)
    words = shlex.split(command)[1:]
    flags = list(zip(words[::2], words[1::2], strict=True))
    given = dict(flags)
    assert given["--data"] == data
    users = int(given.get("--users", 400_000))
    varied = read_varied([value for flag, value in flags if flag == "--vary"])
    (collection,) = (yaml.safe_load(value) for flag, value in flags if flag == "--collection")
    assert collection == {"mechanism": {"set_size": None, **fixed}, "items": {}}
    asked = [dict(zip(varied, map(plain, values), strict=True)) for values in itertools.product(*varied.values())]
    prefix = (
        f"{data.partition('.')[0]}{'-k10' if fixed.get('k') == 10 else '-epsilon3' if 'epsilon' in fixed else ''}"
    )
    run = documents()[prefix]
    assert sorted(map(str, asked)) == sorted(str(each["varied"]) for each in run["results"])
    for name in (prefix, f"{prefix}-published", f"{prefix}-published-svim"):
        assert {(each["users"], each["repeats"]) for each in documents()[name]["results"]} == {(users, 10)}
        assert documents()[name]["settings"]["seed"] == 0


def test_every_output_belongs_to_a_section() -> None:
    assert len(documents()) == len(list(RESULTS.iterdir())) == 3 * len(SECTIONS)
