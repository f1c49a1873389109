"""This command measures how much synthetic records have of a known table."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.evaluate._inputs import distinct, known_names, numbers
from stream_ldp.cli.evaluate._options import AsJson, Attributes, Data, EpsilonForEver, Repeats, Seed
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.evaluate._table import MISSING, MissingInTable, coded_columns
from stream_ldp.cli.evaluate.views import MOST_CELLS
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import BINS, Binning, columns_of
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import suggestion
from stream_ldp.collection.synthesis import Synthesis
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.synthesis.evaluation import MAJORITY, REAL, TEST_SHARE, WAYS, scores, trials
from stream_ldp.views.evaluation import drawn_sets
from stream_ldp.views.expected import DEPENDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.synthesis.evaluation import Score

__all__ = ["synthesis"]


def synthesis(
    *,
    data: Data,
    label: Annotated[str, typer.Option(metavar="NAME", help="Column that a classifier predicts from the others.")],
    of: Attributes = None,
    epsilon: EpsilonForEver,
    methods: Annotated[
        str,
        typer.Option(
            metavar="METHOD,...",
            help=f"Methods to compare, from {', '.join(Synthesis)}; and {REAL}, which are records of other users, "
            f"and {MAJORITY}, which gives all the most frequent label.",
        ),
    ] = ",".join(Synthesis),
    users: Annotated[
        int | None,
        typer.Option(
            min=2,
            show_default="one for each record that is not kept apart",
            help="Number of users in each repeat, each with one report, and of the records made.",
        ),
    ] = None,
    dependence: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=0.999,
            help="Expected AVD between two attributes and the product of their margins, by which views are chosen.",
        ),
    ] = DEPENDENCE,
    sets: Annotated[int, typer.Option(min=1, help="Number of random sets of 2, 3 and 5 attributes to compare.")] = 20,
    repeats: Repeats = 3,
    seed: Seed = 0,
    bins: BINS = None,
    missing: MISSING = MissingInTable.VALUE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every method and epsilon, and print how far synthetic records are from those of the users.

    Distances are average variation distances of random sets of 2, 3 and 5 attributes. A fifth of the table is kept
    apart, and a logistic regression that has learnt from the synthetic records predicts its labels: accuracy is the
    share that it gets right, auc the area under its curve, and accuracy_real the share that one gets right that has
    learnt from the users' own records. lopub has reports of RR-LDP and is as published; the other methods have views.
    """
    chosen = known_names(methods, [*map(str, Synthesis), REAL, MAJORITY], "method")
    epsilons = numbers(epsilon, float, "--epsilon")
    columns = columns_of(data) if of is None else distinct(of, "attribute")
    if label not in columns:
        fail(f"--label {label!r} is not an attribute{suggestion(label, columns)}", code=2)
    people, sizes = coded_columns(data, columns, bins=Binning.of(bins), missing=missing)
    if len(columns) < 2 or len(people) < 5:
        fail(f"{data}: records of two attributes or more are needed, and five of them or more")
    drawn = {
        ways: drawn_sets(sizes, ways=ways, sets=sets, most_cells=MOST_CELLS, seed=seed)
        for ways in WAYS
        if ways <= len(sizes)
    }
    users = users or round((1 - TEST_SHARE) * len(people))
    outcomes = trials(
        people,
        sizes,
        label=columns.index(label),
        methods=chosen,
        epsilons=epsilons,
        sets=drawn,
        dependence=dependence,
        users=users,
        repeats=repeats,
        seed=seed,
        clock=time.perf_counter,
    )
    results = scores(watched(outcomes, total=repeats * len(chosen) * len(epsilons), what="sets of records"))
    settings = {
        "data": data.name,
        "of": columns,
        "values": list(sizes),
        "label": label,
        "dependence": dependence,
        "users": users,
        "repeats": repeats,
        "seed": seed,
    }
    if as_json:
        echo_json(settings, [asdict(each) for each in results])
    else:
        _show(results, label=label, users=users)


def _show(results: Sequence[Score], *, label: str, users: int) -> None:
    show_results(
        [
            (
                each.method,
                each.structure,
                shown_epsilon(each.epsilon),
                *(f"{distance:.4f}" for distance in (each.avd2, each.avd3, each.avd5)),
                f"{each.accuracy:.3f}",
                "-" if each.auc is None else f"{each.auc:.3f}",
                f"{each.accuracy_real:.3f}",
                f"{each.seconds:.1f}",
            )
            for each in results
        ],
        title=f"{users:,} synthetic records beside those of the users; label: {label}",
        words=["method", "structure"],
        numbers=["epsilon", "2-way", "3-way", "5-way", "accuracy", "auc", "real", "seconds"],
    )
