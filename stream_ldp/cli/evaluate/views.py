"""This command measures how far joint distributions are from the truth where users tell views."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_ldp.cli.evaluate._inputs import distinct, numbers
from stream_ldp.cli.evaluate._options import AsJson, Attributes, Data, EpsilonForEver, Repeats, Seed
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.evaluate._table import MISSING, MissingInTable, coded_columns
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import BINS, Binning, columns_of
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import suggestion
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.views.design import candidates, ranked
from stream_ldp.views.evaluation import Candidate, PerturbedRecords, Score, Views, drawn_sets, scores, trials
from stream_ldp.views.expected import DEPENDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_CELLS", "views"]

#: Cells of a joint distribution of five attributes beyond which most are empty, and AVD says little.
MOST_CELLS = 5_000
#: Numbers of attributes of the joint distributions, unless others are given.
_WAYS = (2, 3, 5)
#: What tells all attributes: the mechanism, and the form of LREMH that estimates from its reports.
_RECORDS = {
    "rr-ldp": ("rr-ldp", "certificate"),
    "rr-ldp-paper": ("rr-ldp", "paper"),
    "k-rr": ("k-rr", "certificate"),
    "k-rr-paper": ("k-rr", "paper"),
}


def views(
    *,
    data: Data,
    of: Attributes = None,
    epsilon: EpsilonForEver,
    users: Annotated[
        int | None,
        typer.Option(
            min=2,
            show_default="one for each record",
            help="Number of users in each repeat, each with one report; drawn with replacement if there are fewer "
            "records. The design `auto` is chosen for as many.",
        ),
    ] = None,
    designs: Annotated[
        str,
        typer.Option(
            metavar="DESIGN,...",
            help="Designs to compare: auto, attributes, pairs, others that `plan` shows, and rr-ldp, k-rr, "
            "rr-ldp-paper or k-rr-paper, which tell all attributes, each with its part of the epsilon; paper is the "
            "published form of the estimator.",
        ),
    ] = "auto,attributes,pairs,rr-ldp",
    ways: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER,...",
            help="Numbers of attributes of the joint distributions.",
            show_default="2,3,5, without those that are more than the table has",
        ),
    ] = None,
    sets: Annotated[int, typer.Option(min=1, help="Number of random sets of as many attributes.")] = 20,
    most_cells: Annotated[
        int, typer.Option(min=4, help="Most cells of a joint distribution; sets with more are not drawn.")
    ] = MOST_CELLS,
    dependence: Annotated[
        float,
        typer.Option(
            min=0.001, max=0.999, help="Expected AVD between two attributes and the product of their margins."
        ),
    ] = DEPENDENCE,
    repeats: Repeats = 3,
    seed: Seed = 0,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Say how many cells are within 1.96 standard errors, ideally 0.95."),
    ] = False,
    bins: BINS = None,
    missing: MISSING = MissingInTable.VALUE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every design and epsilon, and print the mean average variation distance (AVD) of each.

    Distances are of joint distributions of random sets of attributes, to those of the users drawn; avd_expected is
    what the formula gives that chooses designs. The values of an attribute are those that occur in the file. Seconds
    are those to estimate all sets of as many attributes, without making and counting reports.
    """
    epsilons = numbers(epsilon, float, "--epsilon")
    names = distinct(designs, "design")
    columns = columns_of(data) if of is None else distinct(of, "attribute")
    people, sizes = coded_columns(data, columns, bins=Binning.of(bins), missing=missing)
    users = users or len(people)
    possible = [each for each in _WAYS if each <= len(sizes)] or [len(sizes)]
    wanted = possible if ways is None else numbers(ways, int, "--ways")
    drawn = {each: _sets(sizes, each, sets=sets, most_cells=most_cells, seed=seed) for each in wanted}
    chosen = [
        _candidate(name, sizes, epsilon=each, users=users, dependence=dependence)
        for each in epsilons
        for name in names
    ]
    outcomes = trials(
        people,
        sizes,
        candidates=chosen,
        sets=drawn,
        users=users,
        repeats=repeats,
        seed=seed,
        clock=time.perf_counter,
        coverage=coverage,
    )
    total = repeats * len(chosen) * len(drawn)
    results = scores(watched(outcomes, total=total, what="estimates"), sets=drawn, users=users)
    settings = {
        "data": data.name,
        "of": columns,
        "values": list(sizes),
        "users": users,
        "sets": {str(each): len(found) for each, found in drawn.items()},
        "repeats": repeats,
        "seed": seed,
    }
    if as_json:
        echo_json(settings, [asdict(each) for each in results])
    else:
        _show(settings, results)


def _sets(sizes: Sequence[int], ways: int, *, sets: int, most_cells: int, seed: int) -> list[tuple[int, ...]]:
    if not 1 <= ways <= len(sizes):
        fail(f"--ways has {ways}; from 1 to the {len(sizes)} attributes of the table", code=2)
    found = drawn_sets(sizes, ways=ways, sets=sets, most_cells=most_cells, seed=seed)
    if not found:
        fail(
            f"no {ways} attributes have at most {most_cells:,} cells: give more --most-cells, or others --of", code=2
        )
    return found


def _candidate(name: str, sizes: tuple[int, ...], *, epsilon: float, users: int, dependence: float) -> Candidate:
    try:
        if name in _RECORDS:
            kind, form = _RECORDS[name]
            stop: Any = form
            return PerturbedRecords(name=name, epsilon=epsilon, sizes=sizes, stop=stop, kind=kind)
        if name == "auto":
            best = ranked(sizes, epsilon=epsilon, users=users, dependence=dependence)[0]
            return Views(name=name, epsilon=epsilon, design=best)
        known = {each.name: each for each in candidates(sizes, epsilon=epsilon)}
    except ParameterError as error:
        fail(f"{name} at epsilon {epsilon}: {error}", code=2)
    if name not in known:
        fail(f"{name!r} is not a design of these attributes{suggestion(name, [*known, 'auto', *_RECORDS])}", code=2)
    return Views(name=name, epsilon=epsilon, design=known[name])


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    show_results(
        [
            (
                each.design,
                each.chosen,
                shown_epsilon(each.epsilon),
                f"{each.ways}",
                f"{each.avd:.4f}",
                f"{each.avd_expected:.4f}",
                "" if each.coverage is None else f"{each.coverage:.3f}",
                f"{each.seconds:.2f}",
            )
            for each in results
        ],
        title="Average variation distance to the truth of the users drawn",
        words=["design", "chosen"],
        numbers=["epsilon", "ways", "avd", "expected", "coverage", "seconds"],
        said=f"{settings['data']}: {len(settings['of'])} attributes of {min(settings['values'])} to "
        f"{max(settings['values'])} values; {quantity(settings['users'], 'user')}, repeats: {settings['repeats']}.",
    )
