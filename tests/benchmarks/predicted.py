"""What `plan` predicts over what `evaluate` measures of other users, for every kind, on generated tables or on yours.

python -m tests.benchmarks.predicted draws tables of 40,000 users, in two halves. Of each kind, mechanism and number
of users, it prints what the plan predicts by itself, what it predicts with --data and the first half, as of a survey
before, and what `evaluate` measures in 20 repeats of users of the second half; last, of each kind, the share of the
ratios from 0.7 to 1.4, and their geometric mean. Numbers that are no errors, such as those of rankings, are among
them. --kind records, which may be repeated, takes some of the kinds. With --data FILE and --of a,b, which may be
repeated, it predicts joint distributions of the attributes of a table of yours, by records and by views. Some
minutes.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from stream_ldp.cli import app
from tests.benchmarks.record_mechanisms import records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USERS, REPEATS, ROWS = (1_000, 20_000), 20, 40_000
SIZES: tuple[tuple[int, ...], ...] = ((3, 2), (8, 6), (6, 4, 2))
MECHANISMS = (
    "{kind: rr-ldp, f: 0.25}",
    "{kind: rr-ldp, f: 0.5}",
    "{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}",
    "{kind: k-rr, epsilon: 1}",
    "{kind: k-subset, epsilon: 1}",
)
WINDOW = "collection: c, window: {size: 60s}"


class Setting(NamedTuple):
    """A collection, its text, and the users of a table, a line each."""

    kind: str
    name: str
    text: str
    head: Sequence[str]
    lines: Sequence[Sequence[object]]


def _named(sizes: Sequence[int]) -> str:
    values = [", ".join(f"'{number}'" for number in range(size)) for size in sizes]
    return ", ".join(f"{{name: a{place}, values: [{each}]}}" for place, each in enumerate(values))


def settings(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield a few settings of each kind."""
    for sizes, family in zip(SIZES, ("zipf", "dirichlet", "zipf"), strict=True):
        names = [f"a{place}" for place in range(len(sizes))]
        estimates = f"[{{name: joint, of: [{', '.join(names)}]}}]"
        lines = records(sizes, family, rng).tolist()
        for mechanism in MECHANISMS:
            text = f"{{{WINDOW}, mechanism: {mechanism}, attributes: [{_named(sizes)}], estimates: {estimates}}}"
            yield Setting("records", f"{family} {'x'.join(map(str, sizes))} {mechanism}", text, names, lines)
    for sizes in ((2,) * 8, (8, 6, 4, 2)):
        names = [f"a{place}" for place in range(len(sizes))]
        estimates = "[{name: two, of: [a0, a1]}, {name: three, of: [a0, a2, a3]}]"
        for family in ("zipf", "dirichlet"):
            lines = records(sizes, family, rng).tolist()
            for epsilon in (1.0, 4.0):
                asked = f"{{kind: sampled, ask: auto, epsilon: {epsilon}}}"
                text = f"{{{WINDOW}, mechanism: {asked}, attributes: [{_named(sizes)}], estimates: {estimates}}}"
                yield Setting(
                    "views", f"{family} {'x'.join(map(str, sizes))} epsilon {epsilon:g}", text, names, lines
                )
    sizes = (2, 8, 60)
    for family in ("zipf", "dirichlet"):
        lines = records(sizes, family, rng).tolist()
        for epsilon in (0.5, 1.0, 4.0):
            text = f"{{{WINDOW}, mechanism: {{kind: sampled, epsilon: {epsilon}}}, attributes: [{_named(sizes)}]}}"
            yield Setting("sampled", f"{family} 2, 8, 60 epsilon {epsilon:g}", text, ["a0", "a1", "a2"], lines)
    for name, numbers in (
        ("gamma", np.clip(rng.gamma(3, 12, ROWS), 0, 99)),
        ("beta(1, 6)", 100 * rng.beta(1, 6, ROWS)),
        ("uniform", 100 * rng.random(ROWS)),
    ):
        lines = [[f"{number:.2f}"] for number in numbers]
        for epsilon in (0.5, 1.0, 4.0):
            attributes = "[{name: age, range: [0, 100]}]"
            text = f"{{{WINDOW}, mechanism: {{kind: sampled, epsilon: {epsilon}}}, attributes: {attributes}}}"
            yield Setting("sampled", f"numbers, {name}, epsilon {epsilon:g}", text, ["age"], lines)
    yield from _keyed(rng)
    yield from _ranked(rng)


def _keyed(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield settings of key-value data, and of places."""
    keys = [f"k{number}" for number in range(8)]
    held = rng.random((ROWS, 8)) < np.linspace(0.4, 0.05, 8)
    lines = [
        [f"{number:.3f}" if has else "" for has, number in zip(*row, strict=True)]
        for row in zip(held, rng.beta(2, 4, (ROWS, 8)), strict=True)
    ]
    for epsilon in (1.0, 4.0):
        mechanism = f"{{kind: pairs, epsilon: {epsilon}, padding: 3}}"
        text = f"{{{WINDOW}, mechanism: {mechanism}, keys: {{names: [{', '.join(keys)}], range: [0, 1]}}}}"
        yield Setting("pairs", f"8 keys, epsilon {epsilon:g}", text, keys, lines)
    towns = [f"p{number}" for number in range(16)]
    lines = [[towns[number], "everywhere", "1"] for number in np.minimum(rng.geometric(0.2, ROWS) - 1, 15).tolist()]
    text = f"{{{WINDOW}, mechanism: {{kind: places, epsilon: [1]}}, places: [{', '.join(towns)}]}}"
    yield Setting("places", "16 places", text, ["place", "region", "epsilon"], lines)


def _ranked(rng: np.random.Generator) -> Iterator[Setting]:
    """Yield settings of sets, whose lines have no head, and of strings."""
    for name, mean in (("short", 3), ("long", 12)):
        sizes = np.minimum(rng.geometric(1 / mean, ROWS), 60)
        drawn = [np.unique(np.minimum(rng.zipf(1.5, size), 100)).tolist() for size in sizes.tolist()]
        lines = [[f"i{number}" for number in each] for each in drawn]
        items = ", ".join(f"i{number}" for number in range(1, 101))
        for kind, epsilon in (("svim", 2.0), ("gfim-users", 4.0)):
            mechanism = f"{{kind: {kind}, epsilon: {epsilon}, k: 10, set_size: {mean * 2}}}"
            text = f"{{{WINDOW}, mechanism: {mechanism}, items: {{names: [{items}]}}}}"
            yield Setting("sets", f"{name} sets, {kind}, epsilon {epsilon:g}", text, [], lines)
    letters = np.array(list("abcdefgh"))
    words = ["".join(rng.choice(letters, length)) for length in rng.integers(2, 7, 500)]
    lines = [[words[number]] for number in np.minimum(rng.zipf(1.4, ROWS) - 1, 499).tolist()]
    for epsilon in (2.0, 4.0):
        text = (
            f"{{{WINDOW}, mechanism: {{kind: strings, epsilon: {epsilon}, k: 8}}, string: {{name: word, length: 6}}}}"
        )
        yield Setting("strings", f"words, epsilon {epsilon:g}", text, ["word"], lines)


def _run(*arguments: object) -> Any:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, f"{arguments} {done.output}"
    return json.loads(done.stdout)


def _written(path: Path, setting: Setting, lines: Sequence[Sequence[object]]) -> Path:
    with path.open("w", newline="") as file:
        if setting.head:
            csv.writer(file).writerows([setting.head, *lines])
        else:
            file.writelines(f"{' '.join(map(str, each))}\n" for each in lines)
    return path


def compared(setting: Setting, folder: Path) -> Iterator[tuple[str, str, int, float | None, float, float]]:
    """Yield series, metric, users, what a plan predicts alone and with a table, and what is measured."""
    (collection := folder / "collection.yaml").write_text(setting.text)
    half = len(setting.lines) // 2
    before = _written(folder / "before.csv", setting, setting.lines[:half])
    after = _written(folder / "after.csv", setting, setting.lines[half:])
    numbers = [option for users in USERS for option in ("--users", users)]
    planned = _run("plan", collection, "--json", *numbers)
    alone, known = (
        {(each["series"], each["users"], name): value for each in found for name, value in each["metrics"].items()}
        for found in (
            planned["predicted"],
            _run("plan", collection, "--json", *numbers, "--data", before)["predicted"],
        )
    )
    for error in planned["regions"][0]["errors"] if "regions" in planned else ():
        alone["places", error["users"], "rmse"] = error["standard_error"]
    options = ["--users", ",".join(map(str, USERS)), "--repeats", REPEATS, "--seed", 7, "--json"]
    for each in _run("evaluate", collection, "--data", after, *options)["results"]:
        for name, value in each["metrics"].items():
            place = each["series"], each["users"], name
            if place in known:
                yield (each["series"], name, each["users"], alone.get(place), known[place], value)


def _within(ratios: Sequence[float]) -> str:
    if not ratios:
        return "none"
    inside = np.mean([0.7 <= ratio <= 1.4 for ratio in ratios])
    return f"{inside:.0%} of {len(ratios)} (geometric mean {np.exp(np.mean(np.log(ratios))):.2f})"


def _of_yours(data: Path, of: Sequence[str]) -> Iterator[Setting]:
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    np.random.default_rng(0).shuffle(rows)
    for names in (each.replace(" ", "").split(",") for each in of):
        lines = [[row[name] for name in names] for row in rows]
        domains = [", ".join(f"'{value}'" for value in sorted(set(column))) for column in zip(*lines, strict=True)]
        attributes = ", ".join(
            f"{{name: {name}, values: [{each}]}}" for name, each in zip(names, domains, strict=True)
        )
        estimates = f"[{{name: joint, of: [{', '.join(names)}]}}]"
        for mechanism in MECHANISMS:
            text = f"{{{WINDOW}, mechanism: {mechanism}, attributes: [{attributes}], estimates: {estimates}}}"
            yield Setting("records", f"{','.join(names)} {mechanism}", text, names, lines)
        for epsilon in (1.0, 4.0):
            mechanism = f"{{kind: sampled, ask: auto, epsilon: {epsilon}}}"
            text = f"{{{WINDOW}, mechanism: {mechanism}, attributes: [{attributes}], estimates: {estimates}}}"
            yield Setting("views", f"{','.join(names)} {mechanism}", text, names, lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--of", action="append", default=[])
    given = parser.parse_args()
    table = Table("kind", "setting", "of", "metric", "users", "planned", "with a table", "measured")
    ratios: dict[str, tuple[list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for setting in _of_yours(given.data, given.of) if given.data else settings(np.random.default_rng(0)):
            if given.kind and setting.kind not in given.kind:
                continue
            by_itself, with_table = ratios.setdefault(setting.kind, ([], []))
            for series, metric, users, alone, known, found in compared(setting, Path(folder)):
                # Of squares, the root is the error.
                power = 0.5 if metric == "mse" else 1.0
                if found:
                    with_table.append((known / found) ** power)
                    by_itself += [] if alone is None else [(alone / found) ** power]
                shown = ("" if alone is None else f"{alone:.3g}", f"{known:.3g}", f"{found:.3g}")
                table.add_row(setting.kind, setting.name, series, metric, f"{users:,}", *shown)
    console = Console(width=160)
    console.print(table)
    for kind, (by_itself, with_table) in ratios.items():
        console.print(f"{kind}: from 0.7 to 1.4, alone {_within(by_itself)}; with a table {_within(with_table)}")


if __name__ == "__main__":
    main()
