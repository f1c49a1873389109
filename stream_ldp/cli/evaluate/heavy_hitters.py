"""`stream-ldp evaluate heavy-hitters`: how good the rankings of a known population of item sets are."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.evaluate._inputs import distinct, ordered, suggestion
from stream_ldp.cli.evaluate._progress import watched
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import named_sets
from stream_ldp.cli.inputs.text_file import text_of
from stream_ldp.errors import DataError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.sets.evaluation import scores, trials
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.combination import Combine
from stream_ldp.sets.methods.methods import OPTIONS, Kind, method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.sets.evaluation import Score
    from stream_ldp.sets.phases import Method

__all__ = ["Transactions", "heavy_hitters", "read_transactions"]

_Number = TypeVar("_Number", int, float)


def heavy_hitters(
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="Text file, gzipped if its name ends in .gz: the items of a user on a line, separated by blanks; an "
            "empty line is an empty set."
        ),
    ],
    k: Annotated[str, typer.Option("--k", metavar="K,...", help="Heavy hitters that are wanted.")],
    epsilon: Annotated[str, typer.Option(metavar="EPSILON,...", help="Of a user for an epoch, nats.")],
    methods: Annotated[str, typer.Option(metavar="METHOD,...", help=f"Of {', '.join(Kind)}.")] = ",".join(Kind),
    users: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="one for each line",
            help="Users of a repeat, each with one line; drawn with replacement if there are fewer lines.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats, each with its own users and noise.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of users and noise; the same users for every method.")] = 0,
    set_size: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="no fewer than 90 % of the sets hold",
            help="l, items that a set has at most, or nearly all sets; 0 for svim as published, without it.",
        ),
    ] = None,
    k_max: Annotated[
        int | None, typer.Option(show_default="3 k; 2 k of svim", help="Candidates after phase 1.")
    ] = None,
    finalists: Annotated[
        int | None, typer.Option(show_default="2 k", help="|E|, after phase 2 of gfim and gfim-users.")
    ] = None,
    combine: Annotated[
        Combine | None,
        typer.Option(
            show_default=Combine.VARIANCE, help="How estimates of two phases become one; of all methods but svim."
        ),
    ] = None,
    hash_bits: Annotated[
        int | None,
        typer.Option(
            show_default="least variance", help="Of Hadamard responses; 1 is sampling SH, the paper's, in all phases."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Repeat it with every method, k and epsilon, and print the means of each.

    The items are those that occur in the file. NDCG, relative error (re), F1 and mean squared error (mse) are of the
    published k items against the true top k of the users drawn; an item that is no candidate has the estimate 0, and
    one that is not published no gain. Seconds are those of a whole epoch, all users and the server.
    """
    options = {
        "set_size": set_size,
        "k_max": k_max,
        "finalists": finalists,
        "combine": combine,
        "hash_bits": hash_bits,
    }
    kinds = _kinds(methods, options)
    sizes = _numbers(k, int, "--k")
    epsilons = _numbers(epsilon, float, "--epsilon")
    try:
        transactions = read_transactions(data)
    except DataError as error:
        fail(str(error), code=2)
    options["set_size"] = transactions.usual_size if set_size is None else set_size or None
    chosen = _methods(kinds, sizes, epsilons, domain=transactions.domain, options=options)
    users = users or len(transactions.sets)
    outcomes = trials(
        transactions.sets, methods=chosen, users=users, repeats=repeats, seed=seed, clock=time.perf_counter
    )
    results = scores(watched(outcomes, total=repeats * len(chosen), what="epochs"))
    settings = {
        "data": data.name,
        "items": transactions.domain,
        "users": users,
        "repeats": repeats,
        "seed": seed,
        "methods": kinds,
        "k": sizes,
        "epsilon": epsilons,
        **options,
    }
    if as_json:
        document = {"settings": settings, "results": [_row(each) for each in results]}
        typer.echo(json.dumps(document, allow_nan=False))
    else:
        _show(settings, results)


def _kinds(methods: str, options: dict[str, Any]) -> list[Kind]:
    names = distinct(methods, "method")
    known = [kind.value for kind in Kind]
    for name in names:
        if name not in known:
            fail(f"{name!r} is not a method{suggestion(name, known)}", code=2)
    kinds = [Kind(name) for name in names]
    for option, value in options.items():
        if value is not None and not any(option in OPTIONS[kind] for kind in kinds):
            fail(f"--{option.replace('_', '-')} means nothing to {methods}: leave it out", code=2)
    return kinds


def _methods(
    kinds: Sequence[Kind], sizes: Sequence[int], epsilons: Sequence[float], *, domain: int, options: dict[str, Any]
) -> list[tuple[float, Method]]:
    return [
        (
            epsilon,
            method(
                kind,
                domain=domain,
                k=k,
                epsilon=epsilon,
                **{name: value for name, value in options.items() if name in OPTIONS[kind]},
            ),
        )
        for k in sizes
        for epsilon in epsilons
        for kind in kinds
    ]


def _numbers(listed: str, kind: type[_Number], option: str) -> list[_Number]:
    try:
        numbers = [kind(word) for word in listed.split(",")]
    except ValueError:
        wanted = "whole numbers" if kind is int else "numbers"
        fail(f"{option} is {listed!r}; {wanted} between commas", code=2)
    if len(set(numbers)) < len(numbers):
        fail(f"{option} is {listed!r}; no number twice", code=2)
    return numbers


class Transactions(NamedTuple):
    """Item sets over items 0 to domain - 1, and the least size that 90 % of them do not exceed."""

    sets: ItemSets
    domain: int
    usual_size: int


def read_transactions(path: Path) -> Transactions:
    """The sets of a file.

    Raises:
        DataError: the file cannot be read or holds no sets; the message never repeats an item.
    """
    codes: dict[str, int] = {}
    with text_of(path) as file:
        # The items of each line by the order of their first appearance.
        sets = ItemSets.of([codes.setdefault(name, len(codes)) for name in names] for names in named_sets(file, path))
    if not len(sets):
        raise DataError(f"{path}: empty; it needs a user's items on each line")
    if len(codes) < 2:
        raise DataError(f"{path}: {len(codes)} different items; a ranking needs at least two")
    places = np.empty(len(codes), dtype=np.int64)
    places[[codes[name] for name in ordered(codes)]] = np.arange(len(codes))
    usual = int(np.quantile(sets.sizes, 0.9, method="inverted_cdf"))
    return Transactions(ItemSets(sets.offsets, places[sets.items]), len(codes), max(usual, 1))


def _row(score: Score) -> dict[str, Any]:
    row: dict[str, Any] = {"method": score.method, "epsilon": score.epsilon, "k": score.k}
    deviation = asdict(score.deviation)
    for name, mean in asdict(score.mean).items():
        row |= {name: mean, f"{name}_sd": deviation[name]}
    return row


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    console = Console(highlight=False)
    given = ", ".join(
        f"{name.replace('_', '-')} {settings[name]}"
        for name in ("set_size", "k_max", "finalists", "combine", "hash_bits")
        if settings[name] is not None
    )
    console.print(
        f"{settings['data']}: {settings['items']:,} items; {settings['users']:,} users, repeats: "
        f"{settings['repeats']}; {given}.",
        markup=False,
    )
    table = Table(box=box.SIMPLE, title="Published against the true top k of the users drawn")
    table.add_column("method")
    for column in ("k", "epsilon", "ndcg", "sd", "re", "sd", "f1", "mse", "seconds"):
        table.add_column(column, justify="right")
    for each in results:
        table.add_row(
            each.method,
            str(each.k),
            shown_epsilon(each.epsilon),
            f"{each.mean.ndcg:.3f}",
            f"{each.deviation.ndcg:.3f}",
            f"{each.mean.re:.3f}",
            f"{each.deviation.re:.3f}",
            f"{each.mean.f1:.3f}",
            f"{each.mean.mse:.1e}",
            f"{each.mean.seconds:.3f}",
        )
    console.print(table)
