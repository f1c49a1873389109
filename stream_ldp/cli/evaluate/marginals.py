"""These commands measure how far frequencies and means are from the truth of a known table."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stream_ldp.cli.evaluate._inputs import distinct, known_names, numbers
from stream_ldp.cli.evaluate._options import AsJson, Data, Epsilon, Repeats, Seed, Users
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.evaluate._table import MISSING, MissingInTable, coded_columns, read_columns
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import BINS, Binning
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import parse_values
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.marginals.cohorts import COHORT_ORACLES
from stream_ldp.marginals.evaluation import Candidate, scores, trials
from stream_ldp.marginals.spec import MEAN_ORACLES, SampledSpec
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.oracles import VALUE_ORACLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.marginals.evaluation import Score
    from stream_ldp.questions.questions import Table as People

__all__ = ["frequency", "mean"]

_ORACLES = (*VALUE_ORACLES, *COHORT_ORACLES)
_VALUES = ("auto", "k-rr", "k-subset", "hadamard")
_NUMBERS = ("auto", "harmony-mean")

Of = Annotated[
    str,
    typer.Option(
        metavar="NAME,...", help="Columns of the table to take as attributes; each user is asked about one."
    ),
]


def frequency(
    *,
    data: Data,
    of: Of,
    epsilon: Epsilon,
    oracles: Annotated[
        str, typer.Option(metavar="ORACLE,...", help=f"Oracles to compare, from {', '.join(_ORACLES)}.")
    ] = ",".join(_VALUES),
    users: Users = None,
    repeats: Repeats = 10,
    seed: Seed = 0,
    bins: BINS = None,
    missing: MISSING = MissingInTable.VALUE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every oracle and epsilon, and print the mean errors of each.

    The values of an attribute are those that occur in the file. mse is the mean squared error of the raw estimates of
    the frequencies, mse_expected what the formula of their variance gives for it, and avd the average variation
    distance of the projected estimates: half the sum of |estimate - truth|. The truth is that of the users drawn.
    Seconds are those of a repeat: to perturb, count and estimate.
    """
    names = distinct(of, "attribute")
    epsilons, chosen = numbers(epsilon, float, "--epsilon"), known_names(oracles, _ORACLES, "oracle")
    coded, sizes = coded_columns(data, names, bins=Binning.of(bins), missing=missing)
    # Values of the table may be empty or of any length, which labels of a collection are not.
    attributes = [
        AskedAttribute(name=str(number), values=tuple(map(str, range(size)))) for number, size in enumerate(sizes)
    ]
    people = _table(attributes, list(coded.T))
    candidates = [
        _candidate(name, each, attributes, {"oracle": name, "epsilon": each}) for each in epsilons for name in chosen
    ]
    settings = {"values": [len(each.labels) for each in attributes]}
    _evaluate(data, names, people, candidates, settings, users=users, repeats=repeats, seed=seed, as_json=as_json)


def mean(
    *,
    data: Data,
    of: Of,
    epsilon: Epsilon,
    oracles: Annotated[
        str, typer.Option(metavar="ORACLE,...", help=f"Oracles to compare, from {', '.join(MEAN_ORACLES)}.")
    ] = ",".join(_NUMBERS),
    range_: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LEAST,LARGEST",
            show_default="those in the file",
            help="Least and largest possible number of every attribute; one outside it is an error.",
        ),
    ] = None,
    users: Users = None,
    repeats: Repeats = 10,
    seed: Seed = 0,
    missing: MISSING = MissingInTable.REFUSE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every oracle and epsilon, and print the mean errors of each.

    mse is the mean squared error of the raw estimates of the means, in units in which the range is from -1 to 1, and
    mse_expected what the formula of the variance gives for it; avd is the absolute error of the estimates, put within
    the range. The truth is that of the users drawn. Seconds are those of a repeat: to perturb, count and estimate.
    """
    names = distinct(of, "attribute")
    epsilons, chosen = numbers(epsilon, float, "--epsilon"), known_names(oracles, MEAN_ORACLES, "oracle")
    given = None if range_ is None else _range(range_)
    if missing is MissingInTable.VALUE:
        fail("--missing value: what is missing is not a number; take --missing refuse or --missing skip", code=2)
    columns = [
        _numbers_of(column, data, name)
        for name, column in zip(
            names, read_columns(data, names, bins=Binning.of(None), missing=missing, own=False), strict=True
        )
    ]
    attributes: list[AskedAttribute] = []
    for name, column in zip(names, columns, strict=True):
        least, largest = given or (float(column.min()), float(column.max()))
        if least == largest:
            fail(f"{data}: attribute {name!r} has the same number in every record: give its --range")
        if column.min() < least or column.max() > largest:
            fail(f"{data}: attribute {name!r} has a number that is not from {least:g} to {largest:g}")
        attributes.append(AskedAttribute(name=str(len(attributes)), range=(least, largest)))
    people = _table(attributes, columns)
    candidates = [
        _candidate(name, each, attributes, {"mean": name, "epsilon": each}) for each in epsilons for name in chosen
    ]
    settings = {"range": [list(each.bounds) for each in attributes]}
    _evaluate(data, names, people, candidates, settings, users=users, repeats=repeats, seed=seed, as_json=as_json)


def _range(text: str) -> tuple[float, float]:
    found = numbers(text, float, "--range")
    if len(found) != 2 or not all(map(math.isfinite, found)) or found[0] > found[1]:
        fail(f"--range is {text!r}: expected two numbers with a comma between them, the smaller one first", code=2)
    return found[0], found[1]


def _numbers_of(column: Sequence[str], path: Path, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Convert a column to numbers.

    Raises:
        DataError: a value is not a finite number; the message never repeats it.
    """
    found = np.empty(len(column))
    for place, value in enumerate(column):
        try:
            found[place] = float(value)
        except ValueError:
            found[place] = math.nan
    if wrong := np.flatnonzero(~np.isfinite(found)).tolist():
        raise DataError(
            f"{path}: attribute {name!r} is not a number in {len(wrong):,} of {len(column):,} records, the first of "
            f"which is record {wrong[0] + 1:,}"
        )
    return found


def _table(attributes: Sequence[AskedAttribute], columns: Sequence[Any]) -> People:
    people = np.empty(len(columns[0]), dtype=[(str(place), each.dtype) for place, each in enumerate(attributes)])
    for place, column in enumerate(columns):
        people[str(place)] = column
    return people


def _candidate(
    oracle: str, epsilon: float, attributes: Sequence[AskedAttribute], parameters: dict[str, Any]
) -> Candidate:
    try:
        questions = parse_values(SampledSpec, {"kind": "sampled", **parameters}).questions(attributes)
    except ParameterError as error:
        fail(f"{oracle} at epsilon {epsilon}: {error}", code=2)
    return Candidate(oracle=oracle, epsilon=epsilon, questions=questions)


def _evaluate(
    data: Path,
    names: Sequence[str],
    people: People,
    candidates: Sequence[Candidate],
    settings: dict[str, Any],
    *,
    users: int | None,
    repeats: int,
    seed: int,
    as_json: bool,
) -> None:
    users = users or len(people)
    outcomes = trials(people, candidates=candidates, users=users, repeats=repeats, seed=seed, clock=time.perf_counter)
    results = scores(watched(outcomes, total=repeats * len(candidates), what="estimates"))
    settings = {"data": data.name, "of": list(names), **settings, "users": users, "repeats": repeats, "seed": seed}
    if as_json:
        echo_json(settings, [asdict(each) for each in results])
    else:
        _show(settings, results)


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    show_results(
        [
            (
                each.oracle,
                shown_epsilon(each.epsilon),
                f"{each.mse:.3g}",
                f"{each.mse_expected:.3g}",
                f"{each.avd:.4f}",
                f"{each.seconds:.3f}",
            )
            for each in results
        ],
        title="Errors to the truth of the users drawn",
        words=["oracle"],
        numbers=["epsilon", "mse", "expected", "avd", "seconds"],
        said=f"{settings['data']}: {', '.join(settings['of'])}; {quantity(settings['users'], 'user')}, repeats: "
        f"{settings['repeats']}.",
    )
