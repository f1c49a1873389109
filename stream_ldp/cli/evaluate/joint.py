"""This command measures how far estimates of a joint distribution are from the truth of a known table."""

from __future__ import annotations

import csv
import difflib
import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.evaluate._inputs import distinct, ordered
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.text_file import text_of
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import parse_values, suggestion
from stream_ldp.errors import DataError
from stream_ldp.mechanisms import MECHANISMS, RRLDPSpec
from stream_ldp.mechanisms.notation import read_spec
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.records.collection import MAX_CELLS
from stream_ldp.records.estimators import Estimator, Method, Stop, estimator
from stream_ldp.records.evaluation import scores, trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import MechanismSpec
    from stream_ldp.records.evaluation import Score

__all__ = ["joint"]

_EXAMPLES = [f"{kind}:{spec.example}" for kind, spec in MECHANISMS.items()]


def _help_of(parameter: str) -> str:
    """The help text of a parameter of RR-LDP, which stands in its spec."""
    description = RRLDPSpec.model_fields[parameter].description or parameter
    return description[0].upper() + description[1:]


def joint(
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="CSV file with a header line and then one record a line. Read as gzip if its name ends in .gz."
        ),
    ],
    of: Annotated[str, typer.Option(metavar="NAME,NAME,...", help="Columns of the table to take as attributes.")],
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="MECHANISM",
            show_default=False,
            help=f"Mechanism of the reports, written like {' or '.join(_EXAMPLES)}. "
            "RR-LDP may also be written as --f, --p and --q.",
        ),
    ] = None,
    f: Annotated[float | None, typer.Option("--f", help=f"{_help_of('f')}.", show_default=False)] = None,
    p: Annotated[float | None, typer.Option("--p", help=f"{_help_of('p')}.")] = None,
    q: Annotated[float | None, typer.Option("--q", help=f"{_help_of('q')}.")] = None,
    users: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="one for each record",
            help="Number of users in each repeat, each with one report; drawn with replacement if there are fewer "
            "records.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of repeats, each with its own users and noise.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the users and the noise, the same for every method.")] = 0,
    methods: Annotated[
        str, typer.Option(metavar="METHOD,...", help=f"Estimators to compare, from {', '.join(Method)}.")
    ] = ",".join(Method),
    stop: Annotated[
        Stop, typer.Option(help="Stopping rule of the estimators: this package's certificate, or the published rule.")
    ] = Stop.CERTIFICATE,
    delta: Annotated[
        float, typer.Option(help="Change of every cell below which an estimator ends, with --stop paper.")
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Repeat this with every method, and print the mean distance of each.

    The values of an attribute are those that occur in the file. The distance is the average variation distance: half
    the sum of |estimate - truth| over the cells, where the truth is that of the users drawn. A method is certified
    if every repeat was; seconds are those of an estimate alone.
    """
    chosen = _estimators(methods, stop=stop, delta=delta)
    spec = _mechanism(mechanism, f=f, p=p, q=q)
    names = distinct(of, "attribute")
    try:
        table = _read(data, names)
    except DataError as error:
        fail(str(error), code=2)
    perturbing = spec.of(sizes=table.sizes)
    cells = math.prod(table.sizes)
    if cells > MAX_CELLS:
        fail(f"--of {of}: {cells:,} cells; at most {MAX_CELLS:,} can be solved", code=2)
    users = users or len(table.records)
    outcomes = trials(
        table.records,
        mechanism=perturbing,
        users=users,
        repeats=repeats,
        seed=seed,
        estimators=chosen,
        clock=time.perf_counter,
    )
    results = scores(watched(outcomes, total=repeats * len(chosen), what="estimates"))
    settings = {
        "data": data.name,
        "of": names,
        "sizes": table.sizes,
        "cells": cells,
        **({"f": f, "p": p, "q": q} if mechanism is None else {"mechanism": spec.model_dump(exclude_none=True)}),
        "users": users,
        "repeats": repeats,
        "seed": seed,
        "methods": [result.method for result in results],
        "stop": stop,
        "delta": delta,
        "epsilon_per_report": perturbing.epsilon(),
        "epsilon_for_ever": perturbing.epsilon(reports=math.inf),
    }
    if as_json:
        document = {"settings": settings, "results": [asdict(each) for each in results]}
        typer.echo(json.dumps(document, allow_nan=False))
    else:
        _show(settings, results)


def _mechanism(word: str | None, *, f: float | None, p: float | None, q: float | None) -> MechanismSpec:
    """Return the mechanism that the word describes, or RR-LDP with these parameters."""
    if (word is None) == (f is None) or (word is not None and (p, q) != (None, None)):
        fail("say how reports are perturbed: either by --mechanism, or by --f, with --p and --q if need be", code=2)
    if word is not None:
        return read_spec(word)
    return parse_values(RRLDPSpec, {"kind": "rr-ldp", "f": f, "p": p, "q": q})


def _estimators(methods: str, *, stop: Stop, delta: float) -> list[Estimator]:
    names = distinct(methods, "method")
    known = [method.value for method in Method]
    for name in names:
        if name not in known:
            fail(f"{name!r} is not a method{suggestion(name, known)}", code=2)
    return [estimator(name, stop=stop, delta=delta) for name in names]


class _Table(NamedTuple):
    """Value indices, shape (records, attributes), and the number of values of each attribute."""

    records: NDArray[np.int64]
    sizes: tuple[int, ...]


def _read(path: Path, names: Sequence[str]) -> _Table:
    """Read the columns of these names.

    Raises:
        DataError: the file cannot be read or is not such a table; the message never repeats a value.
    """
    with text_of(path) as file:
        columns = _columns(file, path, names)
    domains = [{value: index for index, value in enumerate(ordered(column))} for column in columns]
    for name, domain in zip(names, domains, strict=True):
        if len(domain) < 2:
            raise DataError(f"{path}: attribute {name!r} has the same value in every record; it needs at least two")
    codes = [[domain[value] for value in column] for column, domain in zip(columns, domains, strict=True)]
    return _Table(np.array(codes, dtype=np.int64).T, tuple(map(len, domains)))


def _columns(file: TextIO, path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    lines = csv.reader(file, strict=True)
    try:
        header = next(lines, None)
        if not header:
            raise DataError(f"{path}: no first line with the names of columns, and then one record a line")
        for name in names:
            if name not in header:
                # The message leaves out the other names: without a header line they would be somebody's values.
                close = difflib.get_close_matches(name, header, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise DataError(f"{path}: the first line has no column {name!r}{hint}")
            if header.count(name) > 1:
                raise DataError(f"{path}: two columns have the name {name!r}")
        places = [header.index(name) for name in names]
        records = []
        for values in lines:
            if not values:
                continue  # an empty line, as many programs leave at the end
            if len(values) != len(header):
                raise DataError(f"{path}:{lines.line_num}: {len(values)} values for {len(header)} columns")
            records.append([values[place] for place in places])
    except csv.Error as error:
        raise DataError(f"{path}:{lines.line_num}: not CSV: {error}") from error
    if not records:
        raise DataError(f"{path}: no records below the header line")
    return list(zip(*records, strict=True))


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    console = Console(highlight=False)
    report, for_ever = (shown_epsilon(settings[name]) for name in ("epsilon_per_report", "epsilon_for_ever"))
    console.print(
        f"{settings['data']}: {', '.join(settings['of'])}: {settings['cells']:,} cells; {settings['users']:,} users, "
        f"repeats: {settings['repeats']}.\nEpsilon between any two records: {report} a report, {for_ever} for ever.",
        markup=False,
    )
    table = Table(box=box.SIMPLE, title="Average variation distance to the truth of the users drawn")
    for column in ("method", "stop"):
        table.add_column(column)
    for column in ("distance", "sd", "seconds", "iterations", "certified"):
        table.add_column(column, justify="right")
    for each in results:
        table.add_row(
            each.method,
            each.stop,
            f"{each.avd:.4f}",
            f"{each.avd_sd:.4f}",
            f"{each.seconds:.3f}",
            f"{each.iterations:,.1f}",
            "yes" if each.certified else "no",
        )
    console.print(table)
