"""This command measures how far estimates of a joint distribution are from the truth of a known table."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from stream_ldp.cli.evaluate._inputs import distinct, known_names
from stream_ldp.cli.evaluate._options import AsJson, Data, Repeats, Seed, Users
from stream_ldp.cli.evaluate._reporting import Reporting
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.evaluate._table import MISSING, MissingInTable, coded_columns
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import BINS, Binning
from stream_ldp.collection.located import parse_values
from stream_ldp.mechanisms import MECHANISMS, RRLDPSpec
from stream_ldp.mechanisms.notation import read_spec
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.records.collection import MAX_CELLS
from stream_ldp.records.estimators import Estimator, Method, Stop, estimator
from stream_ldp.records.series import MOST_AMONG, NEEDED_BY_TEMPORAL, PRIORS, has_prior
from stream_ldp.records.users_needed import MOST_USERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Mechanism, MechanismSpec
    from stream_ldp.records.window_evaluation import MadeOf

__all__ = ["joint"]

_EXAMPLES = [f"{kind}:{spec.example}" for kind, spec in MECHANISMS.items()]


def _help_of(parameter: str) -> str:
    """The help text of a parameter of RR-LDP, which stands in its spec."""
    description = RRLDPSpec.model_fields[parameter].description or parameter
    return description[0].upper() + description[1:]


_Of = Annotated[str, typer.Option(metavar="NAME,NAME,...", help="Columns of the table to take as attributes.")]
_Among = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME,...",
        show_default="none",
        help="Further columns that users report, whose dependence on each other and on --of tells of one hidden "
        "factor, as with `among` in a collection file. Not with --linked.",
    ),
]
_MechanismWord = Annotated[
    str | None,
    typer.Option(
        metavar="MECHANISM",
        show_default=False,
        help=f"Mechanism of the reports, written like {' or '.join(_EXAMPLES)}. "
        "RR-LDP may also be written as --f, --p and --q.",
    ),
]
_F = Annotated[float | None, typer.Option("--f", help=f"{_help_of('f')}.", show_default=False)]
_P = Annotated[float | None, typer.Option("--p", help=f"{_help_of('p')}.")]
_Q = Annotated[float | None, typer.Option("--q", help=f"{_help_of('q')}.")]
_Methods = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD,...",
        show_default="all; em alone with --windows or --among",
        help=f"Estimators to compare, from {', '.join(Method)}.",
    ),
]
_StopRule = Annotated[
    Stop, typer.Option(help="Stopping rule of the estimators: this package's certificate, or the published rule.")
]
_Delta = Annotated[float, typer.Option(help="Change of every cell below which an estimator ends, with --stop paper.")]
#: Most windows of a series: a week of minutes.
_MOST_WINDOWS = 10_080
_Windows = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=_MOST_WINDOWS,
        show_default="one window",
        help="Number of windows in which the users report, to compare the priors of consecutive windows.",
    ),
]
_Returning = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE,...",
        show_default="0",
        help="Shares of the users of a window who are there in every window; the others are new. With --windows.",
    ),
]
_DriftBy = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        show_default="no drift",
        help="Column by which the population moves over the windows, from the two fifths of the records with its "
        "lowest values to the two fifths with its highest. With --windows.",
    ),
]
_Priors = Annotated[
    str | None,
    typer.Option(
        metavar="PRIOR,...",
        show_default=",".join(PRIORS),
        help="Priors to compare, as in a collection file. With --windows.",
    ),
]
_Linked = Annotated[
    bool,
    typer.Option(
        "--linked",
        help="Also estimate from all reports of the windows until then: linked, each user's together, as with "
        "`linked` in a collection file; and pooled, as if each were another user's. With --windows.",
    ),
]
_Wanted = Annotated[
    float | None,
    typer.Option(
        "--wanted",
        metavar="DISTANCE",
        help="Mean distance for which to find the number of users that each method needs. Not with --windows.",
        show_default=False,
    ),
]


def joint(
    *,
    data: Data,
    of: _Of,
    among: _Among = None,
    mechanism: _MechanismWord = None,
    f: _F = None,
    p: _P = None,
    q: _Q = None,
    users: Users = None,
    repeats: Repeats = 10,
    seed: Seed = 0,
    methods: _Methods = None,
    stop: _StopRule = Stop.CERTIFICATE,
    delta: _Delta = 0.001,
    windows: _Windows = None,
    returning: _Returning = None,
    drift_by: _DriftBy = None,
    priors: _Priors = None,
    linked: _Linked = False,
    wanted: _Wanted = None,
    bins: BINS = None,
    missing: MISSING = MissingInTable.VALUE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every method, and print the mean distance of each.

    The values of an attribute are those that occur in the file. The distance is the average variation distance: half
    the sum of |estimate - truth| over the cells, where the truth is that of the users drawn. A method is certified
    if every repeat was; seconds are those of an estimate alone. Coverage is the share of the cells with at least 1 %
    of the users that are within 1.96 standard errors.

    With --among, users report more attributes than are estimated, and the method is em if none is named. Where the
    reports show one hidden factor of all attributes, the estimate is drawn to the dependence that it makes.

    With --windows, every repeat is a series of windows, estimated by one method (em if none is named) with each
    prior. Means are over the last three quarters of the windows, and over the last windows alone; coverage is that of
    the users whose reports an estimate is made of.
    """
    if windows is None and (returning, drift_by, priors, linked) != (None, None, None, False):
        fail("--returning, --drift-by, --priors and --linked compare windows: say how many with --windows", code=2)
    if wanted is not None and (windows is not None or not 0.0 < wanted < 1.0):
        fail("--wanted is a distance between 0 and 1, of one window", code=2)
    if methods is None:
        methods = ",".join(Method) if (windows, among) == (None, None) else Method.EM.value
    chosen = _estimators(methods, stop=stop, delta=delta)
    spec = _mechanism(mechanism, f=f, p=p, q=q)
    names, others = _attributes(of, among, linked=linked, methods=methods, stop=stop)
    table, drift = _read_with_drift(data, [*names, *others], drift_by, bins=Binning.of(bins), missing=missing)
    sizes = table.sizes[: len(names)]
    cells = math.prod(sizes)
    if cells > MAX_CELLS:
        fail(f"--of {of}: {cells:,} cells; at most {MAX_CELLS:,} can be solved", code=2)
    reporting = Reporting(
        population=table.records,
        mechanism=spec.of(sizes=table.sizes),
        users=users or len(table.records),
        among=len(others),
        repeats=repeats,
        seed=seed,
    )
    settings = {
        "data": data.name,
        "of": names,
        **({} if among is None else {"among": others}),
        "sizes": sizes,
        "cells": cells,
        **({"f": f, "p": p, "q": q} if mechanism is None else {"mechanism": spec.model_dump(exclude_none=True)}),
        "users": reporting.users,
        "repeats": repeats,
        "seed": seed,
        "methods": methods.split(","),
        "stop": stop,
        "delta": delta,
        "epsilon_per_report": reporting.mechanism.epsilon(),
        "epsilon_for_ever": reporting.mechanism.epsilon(reports=math.inf),
    }
    reporting.warm_up(chosen)
    if windows is None:
        documents = [asdict(each) for each in reporting.scores(chosen)]
        if wanted is not None:
            settings["wanted"] = wanted
            for document, each in zip(documents, chosen, strict=True):
                needed = reporting.users_needed(each, wanted=wanted)
                document["users_needed"] = None if needed is None else needed.users
                document["users_needed_error"] = None if needed is None else needed.error
    else:
        settings |= {"windows": windows, "drift_by": drift_by}
        shares, compared = (
            _shares("0" if returning is None else returning),
            _priors(priors, methods=methods, stop=stop),
        )
        compared += _linked(reporting.mechanism, methods=methods, stop=stop) if linked else []
        results = reporting.window_scores(chosen[0], windows=windows, drift=drift, shares=shares, priors=compared)
        documents = [asdict(each) for each in results]
    if as_json:
        echo_json(settings, documents)
    else:
        _show(settings, documents)


def _attributes(of: str, among: str | None, *, linked: bool, methods: str, stop: Stop) -> tuple[list[str], list[str]]:
    """Read the names of the attributes that are estimated, and of further ones."""
    names = distinct(of, "attribute")
    if among is None:
        return names, []
    if linked:
        fail("reports that are linked tell of no hidden factor: leave --among or --linked out", code=2)
    others = [name for name in distinct(among, "attribute") if name not in names]
    if not 3 <= len(names) + len(others) <= MOST_AMONG:
        fail(f"--of and --among are 3 to {MOST_AMONG} attributes together, got {len(names) + len(others)}", code=2)
    if not others:
        fail("--among names no further column than --of: add what else users report, or leave it out", code=2)
    for method in distinct(methods, "method"):
        if not has_prior(method, stop):
            fail(f"--among needs --methods em or lremh, and --stop certificate, got {method} and {stop}", code=2)
    return names, others


def _shares(listed: str) -> list[float]:
    """Read the shares of returning users."""
    shares = []
    for word in distinct(listed, "share of returning users"):
        try:
            shares.append(float(word))
        except ValueError:
            fail(f"--returning: {word!r} is not a number; write shares such as 0,0.5,1", code=2)
        if not 0.0 <= shares[-1] <= 1.0:
            fail(f"--returning: {word} is not a share, which is from 0 to 1", code=2)
        if shares.count(shares[-1]) > 1:
            fail(f"--returning: {word} is given twice in {listed}: give it once", code=2)
    return shares


def _linked(mechanism: Mechanism, *, methods: str, stop: Stop) -> list[MadeOf]:
    """Return what is made of all reports of the windows, if they can be linked."""
    if not mechanism.links:
        fail("--linked needs rr-ldp with p and q: without them all reports of a user are one", code=2)
    if not has_prior(methods, stop):
        fail(f"--linked needs method em or lremh, and stop certificate, got {methods} and {stop}", code=2)
    return ["pooled", "linked"]


def _priors(listed: str | None, *, methods: str, stop: Stop) -> list[MadeOf]:
    """Read the priors to compare of a method with this stopping rule."""
    if "," in methods:
        fail(f"--windows compares priors of one method, got --methods {methods}", code=2)
    known: dict[str, MadeOf] = {prior: prior for prior in PRIORS}
    named = list(PRIORS) if listed is None else known_names(listed, list(PRIORS), "prior")
    if "temporal" in named and not has_prior(methods, stop):
        fail(f"--priors temporal {NEEDED_BY_TEMPORAL}, got {methods} and {stop}", code=2)
    return [known[name] for name in named]


def _mechanism(word: str | None, *, f: float | None, p: float | None, q: float | None) -> MechanismSpec:
    """Return the mechanism that the word describes, or RR-LDP with these parameters."""
    if (word is None) == (f is None) or (word is not None and (p, q) != (None, None)):
        fail("say how reports are perturbed: either by --mechanism, or by --f, with --p and --q if need be", code=2)
    if word is not None:
        return read_spec(word)
    return parse_values(RRLDPSpec, {"kind": "rr-ldp", "f": f, "p": p, "q": q})


def _estimators(methods: str, *, stop: Stop, delta: float) -> list[Estimator]:
    names = known_names(methods, [method.value for method in Method], "method")
    return [estimator(name, stop=stop, delta=delta) for name in names]


class _Table(NamedTuple):
    """Value indices, shape (records, attributes), and the number of values of each attribute."""

    records: NDArray[np.int64]
    sizes: tuple[int, ...]


def _read_with_drift(
    path: Path, names: Sequence[str], drift_by: str | None, *, bins: Binning, missing: MissingInTable
) -> tuple[_Table, NDArray[np.int64] | None]:
    """Read the columns of these names and the one by which the population moves, without the same rows."""
    read = [*names, *([] if drift_by is None or drift_by in names else [drift_by])]
    whole = _read(path, read, bins=bins, missing=missing)
    table = _Table(whole.records[:, : len(names)], whole.sizes[: len(names)])
    return table, None if drift_by is None else whole.records[:, read.index(drift_by)]


def _read(path: Path, names: Sequence[str], *, bins: Binning, missing: MissingInTable) -> _Table:
    """Read the columns of these names.

    Raises:
        DataError: the file cannot be read or is not such a table; the message never repeats a value.
    """
    return _Table(*coded_columns(path, names, bins=bins, missing=missing))


#: The columns of a table of results: heading, field, and how its number is written. The first holds a word.
_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("method", "method", ""),
    ("distance", "avd", ".4f"),
    ("sd", "avd_sd", ".4f"),
    ("coverage", "coverage", ".3f"),
    ("seconds", "seconds", ".3f"),
    ("iterations", "iterations", ",.1f"),
    ("certified", "certified", ""),
)
_WINDOW_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("prior", "prior", ""),
    ("returning", "returning", "g"),
    ("distance", "avd", ".4f"),
    ("coverage", "coverage", ".3f"),
    ("last distance", "last_avd", ".4f"),
    ("last coverage", "last_coverage", ".3f"),
    ("seconds", "seconds", ".3f"),
)


def _show(settings: dict[str, Any], results: Sequence[dict[str, Any]]) -> None:
    report, for_ever = (shown_epsilon(settings[name]) for name in ("epsilon_per_report", "epsilon_for_ever"))
    windows = f" in each of {quantity(settings['windows'], 'window')}" if "windows" in settings else ""
    among = f" among {', '.join(settings['among'])}" if "among" in settings else ""
    (word, *_), *others = columns = _WINDOW_COLUMNS if "windows" in settings else _COLUMNS
    show_results(
        [[_written(each[field], form) for _, field, form in columns] for each in results],
        title="Average variation distance to the truth of the users drawn",
        words=[word],
        numbers=[heading for heading, *_ in others],
        said=f"{settings['data']}: {', '.join(settings['of'])}{among}: {quantity(settings['cells'], 'cell')}; "
        f"{quantity(settings['users'], 'user')}{windows}, repeats: {settings['repeats']}, stop: {settings['stop']}.\n"
        f"Epsilon between any two records: {report} a report, {for_ever} for ever.",
    )
    if "wanted" in settings:
        for each in results:
            number = each["users_needed"]
            found = f"more than {MOST_USERS:,}" if number is None else f"{number:,} ± {each['users_needed_error']:,}"
            typer.echo(f"{each['method']} needs {found} users for a distance of {settings['wanted']:g}.")


def _written(value: object, form: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, form)
