"""This command tries a collection on data whose truth is known, before anything is collected."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import typer

from stream_ldp.cli.evaluate.cases import Case, Ways, cases, group_of, read_varied
from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.cli.evaluate.results import Result, echo_results, show_results
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import DATA_HELP
from stream_ldp.collection.located import read_text, suggestion
from stream_ldp.collection.records import Missing
from stream_ldp.evaluation.experiment import APART, Experiment, scores
from stream_ldp.evaluation.trial import Measure, Measured, first_metric
from stream_ldp.kinds import kind_of, load_solver, synthetic_of
from stream_ldp.pipeline.window_evaluation import measure_windows
from stream_ldp.quantity import quantity
from stream_ldp.steps import share

Number = TypeVar("Number", int, float)

#: Most windows of a series: a week of minutes.
_MAX_WINDOWS = 10_080
#: Cells of a joint distribution of five attributes beyond which most are empty, and AVD says little.
_MAX_CELLS = 5_000
#: Numbers of attributes that synthetic records are compared in.
_WAYS = (2, 3, 5)


def evaluate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="COLLECTION", help="Collection file.", dir_okay=False, show_default=False),
    ] = None,
    *,
    text: Annotated[
        str | None,
        typer.Option(
            "--collection",
            metavar="YAML",
            help="Text of a collection, in place of its file; or the path of one.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[Path, typer.Option(help=DATA_HELP)],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Key of the file, such as mechanism.epsilon or estimates.0.method, and its values in YAML; several "
            "keys multiply.",
            show_default=False,
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER,...",
            help="Numbers of users in each repeat, who report once, or in one epoch; drawn with replacement if there "
            "are fewer in the table. With --windows, those of the windows in turn.",
            show_default="all of the table",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of repeats, each with its own users and noise.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the users and the noise, the same for all that is compared.")
    ] = 0,
    ways: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER,...",
            help="Estimate random sets of as many attributes in place of those of the file.",
            show_default="the estimates of the file",
        ),
    ] = None,
    sets: Annotated[int, typer.Option(min=1, help="Number of random sets of as many attributes.")] = 20,
    most_cells: Annotated[
        int, typer.Option(min=4, help="Most cells of a joint distribution; random sets with more are not drawn.")
    ] = _MAX_CELLS,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Measure synthetic records, from which a classifier learns to predict this attribute.",
            show_default="the estimates of the file",
        ),
    ] = None,
    windows: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=_MAX_WINDOWS,
            help="Number of windows, or of their hops, in which the users report one after another.",
            show_default="one window",
        ),
    ] = None,
    returning: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE,...",
            help="Shares of the users of a window who are there in every window; the others are new. Windows that "
            "learn from each other state it, unless the file does. Where users take turns (`rotate`), all of a "
            "window are there in each of their turns, whatever this says. With --windows.",
            show_default="0",
        ),
    ] = None,
    drift_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column by which the population moves over the windows, from the two fifths of the records with its "
            "lowest values to the two fifths with its highest. With --windows.",
            show_default="no drift",
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            help="Column with a time, a number or a date such as 2026-02-28T09:30: the windows are equal parts of "
            "its range, and the users of each are drawn from the rows in it, all of them new. With --windows.",
            show_default="all rows in each window",
        ),
    ] = None,
    wanted: Annotated[
        float | None,
        typer.Option(
            help="Mean distance (avd), or of other kinds what `plan` names first, for which to find the number of "
            "users that it takes. Not with --windows.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="What becomes of rows that lack a value: refuse them, with their number; or skip and count them.",
            show_default="a value of its own, where the table says what values there are; otherwise refuse",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Draw users from the table, let them report, answer, and compare with their truth, again and again.

    The collection is any that a worker could run, and --vary makes more of it, a row each. It may leave out its name
    and window, and what the table shows: attributes (all columns; a name stands for one), their values, items,
    estimates (one of all attributes), and the length of strings. An empty `range:` or `set_size:` is the table's.

    Joint distributions: avd, the average variation distance, half the sum of |estimate - truth| over the cells;
    coverage, the share of the cells with at least 1 % of the users that are within 1.96 standard errors; width, the
    distance that standard errors let expect over the measured one, 1 where errors are as large as stated. With
    --windows, means are over the last three quarters of the windows, and last_ is the last window alone; before_avd
    is the distance of the previous final, unchanged, and alone_avd that of the window's own reports. Several --users
    are those of the windows in turn, and windows of each number are scored by themselves as well. Windows of other
    kinds, without rounds, have rmse of the published numbers, as shares of the range of each, and coverage.
    learnt_rmse is of the numbers learnt beside them, and before_rmse of the previous final.

    Frequencies and means: mse of the raw estimates, mse_expected by the formula of their variance, avd of the
    projected ones. Distributions of numbers: wasserstein and quantile as shares of the range, errors of ranges
    a tenth and half as wide, and coverage. Item sets: ndcg, re (relative error), f1, mse and coverage of the top k.
    Strings: how many are found, reported, false and nobody's. Places: rmse of a count, raw, expected and projected.
    Synthetic records: avd of random sets of attributes, and accuracy and auc of a classifier on a fifth of the table
    that is kept apart.
    """
    if (file is None) == (text is None):
        fail("give either a collection file, or its text with --collection", code=2)
    if windows is None and (returning, drift_by, time_column) != (None, None, None):
        fail("--returning, --drift-by and --time are for windows: say how many with --windows", code=2)
    if time_column is not None and (returning, drift_by) != (None, None):
        fail("--time says who the users of each window are: leave out --returning and --drift-by", code=2)
    if wanted is not None and (windows is not None or not 0.0 < wanted < 1.0):
        fail("--wanted is a distance, or a quality, between 0 and 1, of one window", code=2)
    if label is not None and windows is not None:
        fail("--label measures the synthetic records of one window: leave --windows out", code=2)
    table = TableFile(data, missing=missing)
    shares = [None] if windows is None else _numbers(returning or "0", float, "--returning", least=0.0, most=1.0)
    listed = [] if users is None else _numbers(users, int, "--users", least=1, distinct=windows is None)
    in_turn = listed if windows is not None and len(listed) > 1 else []
    numbers: Sequence[int | None] = [max(in_turn)] if in_turn else listed or [None]
    drawn = None if ways is None else _numbers(ways, int, "--ways", least=1)
    random_sets = Ways(numbers=drawn or _WAYS, sets=sets, most_cells=most_cells, seed=seed)
    apart = 0.0 if label is None else APART
    if text is not None and text.strip() and not any(mark in text for mark in "\n{") and ": " not in text:
        file = Path(text)  # no text that gives a key its value
    document, source = (read_text(file), str(file)) if file is not None else (text or "", "--collection")
    varied = read_varied(vary or [])
    found = [
        case
        for share in shares
        for case in cases(
            document,
            source=source,
            varied=varied,
            table=table,
            ways=random_sets if drawn is not None and label is None else None,
            returning=share,
            label=label,
        )
    ]
    experiments = [
        (
            case.varied,
            Experiment(
                collection=case.collection,
                population=population,
                users=number or round((1 - apart) * len(population)),
                measure=measure,
                clock=time.perf_counter,
                taken=case.evaluation.taken,
                apart=apart,
                group=str if drawn is None else group_of,
            ),
        )
        for case in found
        for population in [table.population(case.collection, item_sets=case.evaluation.item_sets)]
        for measure in [
            _measure(
                case,
                table,
                windows=windows,
                in_turn=in_turn,
                drift_by=drift_by,
                time_column=time_column,
                label=label,
                ways=random_sets,
            )
        ]
        for number in numbers
    ]
    results, interrupted = _run(experiments, repeats=repeats, seed=seed, wanted=wanted)
    settings = {"data": data.name, "repeats": repeats, "seed": seed, "windows": windows}
    settings |= {"drift_by": drift_by, "time": time_column}
    if as_json:
        echo_results(results, settings={name: value for name, value in settings.items() if value is not None})
    elif results:
        show_results(results, title=f"{data.name}: means of {quantity(repeats, 'repeat')}")
    if interrupted:
        raise typer.Exit(130)


def _measure(
    case: Case,
    table: TableFile,
    *,
    windows: int | None,
    in_turn: Sequence[int],
    drift_by: str | None,
    time_column: str | None,
    label: str | None,
    ways: Ways,
) -> Measure:
    """Return what measures a collection: its kind, for one window or many, or its synthetic records."""
    evaluation, collection = case.evaluation, case.collection
    if label is not None and evaluation.asked is not None:
        return _of_synthetic(collection, evaluation.asked, label=label, ways=ways)
    if windows is None:
        return evaluation.measure
    drift = None if drift_by is None else table.numbers(drift_by)
    numbers = None if time_column is None else table.windows_of(time_column, count=windows)
    for option, found in (("--drift-by", drift), ("--time", numbers)):
        if found is not None and len(found) != len(table.population(collection, item_sets=evaluation.item_sets)):
            fail(f"{option} needs rows that are left out: give attributes a value for what is missing")
    spans = None if numbers is None else [np.flatnonzero(numbers == number) for number in range(windows)]
    options: dict[str, Any] = {"windows": windows, "returning": case.varied["returning"], "spans": spans}
    if evaluation.windows is not None:
        return partial(evaluation.windows, **options, drift=drift, in_turn=in_turn)
    if drift is not None or in_turn:
        fail("--drift-by and several --users are for collections of records: leave them out", code=2)
    return partial(measure_windows, kind=kind_of(collection), **options)


def _of_synthetic(collection: Any, asked: Callable[..., Any], *, label: str, ways: Ways) -> Measure:
    names, sizes = [attribute.name for attribute in collection.attributes], collection.record_sizes
    if label not in names:
        fail(f"--label {label!r} is not an attribute{suggestion(label, names)}", code=2)
    if len(names) < 2:
        fail("--label is predicted from other attributes, and there are none", code=2)
    possible = replace(ways, numbers=[number for number in ways.numbers if number <= len(names)])
    return partial(synthetic_of(collection).measure, label=label, sets=possible.drawn(sizes), asked=asked)


def _run(
    experiments: Sequence[tuple[dict[str, Any], Experiment]], *, repeats: int, seed: int, wanted: float | None
) -> tuple[list[Result], bool]:
    """Run all experiments, or as many as there are until Ctrl-C, and say whether it came."""
    results: list[Result] = []
    with share("repeats", repeats * len(experiments)) as advance:
        for varied, experiment in experiments:
            done: list[list[Measured]] = []
            try:
                load_solver(experiment.collection)
                for each in experiment.repeats(repeats, seed=seed):
                    done.append(each)
                    advance(1)
                found = _results(varied, experiment, done)
                if wanted is not None:
                    found = [_searched(each, experiment, wanted=wanted, repeats=repeats, seed=seed) for each in found]
            except KeyboardInterrupt:
                return [*results, *_results(varied, experiment, done)], True
            results += found
    return results, False


def _results(varied: dict[str, Any], experiment: Experiment, done: Sequence[list[Measured]]) -> list[Result]:
    return [
        Result(series=series, varied=varied, users=experiment.users, score=score)
        for series, score in scores(done).items()
    ]


def _searched(result: Result, experiment: Experiment, *, wanted: float, repeats: int, seed: int) -> Result:
    evaluation = kind_of(experiment.collection).evaluation
    metric = first_metric(evaluation, result.score.metrics)
    if metric is None:
        fail(f"--wanted is {' or '.join(evaluation.predicts)}, which {result.series} does not have", code=2)
    best = evaluation.predicts[metric].best
    needed = experiment.users_needed(result.series, metric, best=best, wanted=wanted, repeats=repeats, seed=seed)
    return replace(result, searched=True, needed=needed)


def _numbers(
    listed: str, kind: type[Number], option: str, *, least: Number, most: Number | None = None, distinct: bool = True
) -> list[Number]:
    """Split numbers at commas, or end the command: a word is no number, beyond a bound, or comes twice.

    distinct: whether no number may come twice.
    """
    wanted = "whole numbers" if kind is int else "numbers"
    bounds = f" of {least:g} or more" if most is None else f" from {least:g} to {most:g}"
    try:
        found = [kind(word) for word in listed.split(",")]
        within = all(least <= each and (most is None or each <= most) for each in found)
    except ValueError:
        within = False
    if not within:
        fail(f"{option} is {listed!r}: expected {wanted}{bounds}, separated by commas", code=2)
    if distinct and len(set(found)) < len(found):
        fail(f"{option} is {listed!r}: give each number once", code=2)
    return found
