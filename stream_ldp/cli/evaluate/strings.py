"""This command measures how many of the most frequent strings of a known table are found."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from stream_ldp.cli.evaluate._inputs import known_names, numbers
from stream_ldp.cli.evaluate._options import AsJson, Data, Epsilon, Repeats, Seed, Users
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.evaluate._table import MISSING, MissingInTable, read_columns
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.table import Binning
from stream_ldp.cli.progress import watched
from stream_ldp.collection.located import parse_values
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity
from stream_ldp.strings.attribute import StringAttribute
from stream_ldp.strings.evaluation import Candidate, scores, trials
from stream_ldp.strings.spec import MAX_K, METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.strings.evaluation import Score

__all__ = ["strings"]


def strings(
    *,
    data: Data,
    of: Annotated[str, typer.Option(metavar="NAME", help="Column of the table that holds the strings.")],
    epsilon: Epsilon,
    methods: Annotated[
        str, typer.Option(metavar="METHOD,...", help=f"Methods to compare, from {', '.join(METHODS)}.")
    ] = "pem",
    k: Annotated[int, typer.Option(min=1, max=MAX_K, help="Number of strings wanted.")] = 32,
    alphabet: Annotated[
        str | None,
        typer.Option(
            help="Letters of the strings, such as abc, which are then their symbols.",
            show_default="any text, as bytes",
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            min=1, help="Most letters or bytes of a string.", show_default="those of the longest in the file"
        ),
    ] = None,
    users: Users = None,
    repeats: Repeats = 3,
    seed: Seed = 0,
    missing: MISSING = MissingInTable.REFUSE,
    as_json: AsJson = False,
) -> None:
    """Repeat this with every method and epsilon, and print the mean results of each.

    found is the number of strings told that are among the k truly most frequent ones, false that of all others, and
    nobodys that of those which nobody has; expected is the most of these that the rankings themselves say to expect.
    covered is the share of the strings told whose true frequency is within two standard errors. The truth is that of
    the users drawn. Seconds are those of a repeat: to perturb and solve.
    """
    if missing is MissingInTable.VALUE:
        fail("--missing value: what is missing is not a string; take --missing refuse or --missing skip", code=2)
    epsilons = numbers(epsilon, float, "--epsilon")
    chosen = known_names(methods, list(METHODS), "method")
    try:
        (column,) = read_columns(data, [of], bins=Binning.of(None), missing=missing, own=False)
        longest = max(1, *(len(each) if alphabet else len(each.encode()) for each in column))
        attribute = parse_values(
            StringAttribute, {"name": "string", "length": length or longest, "alphabet": alphabet}
        )
        encoded = {each: attribute.encode(each) for each in set(column)}
    except (DataError, ParameterError) as error:
        fail(f"{data}: {error}", code=2)
    population = np.array([encoded[each] for each in column], dtype=np.uint16)
    candidates = [_candidate(name, each, attribute) for each in epsilons for name in chosen]
    users = users or len(population)
    outcomes = trials(
        population, candidates=candidates, k=k, users=users, repeats=repeats, seed=seed, clock=time.perf_counter
    )
    results = scores(watched(outcomes, total=repeats * len(candidates), what="rankings"))
    settings = {
        "data": data.name,
        "of": of,
        "strings": len(encoded),
        "alphabet": alphabet,
        "length": attribute.length,
        "k": k,
        "users": users,
        "repeats": repeats,
        "seed": seed,
    }
    if as_json:
        echo_json(settings, [asdict(each) for each in results])
    else:
        _show(settings, results)


def _candidate(method: str, epsilon: float, attribute: StringAttribute) -> Candidate:
    try:
        return Candidate(method=METHODS[method].of(attribute, epsilon=epsilon), epsilon=epsilon)
    except ParameterError as error:
        fail(f"{method} at epsilon {epsilon}: {error}", code=2)


def _show(settings: dict[str, Any], results: Sequence[Score]) -> None:
    show_results(
        [
            (
                each.method,
                shown_epsilon(each.epsilon),
                f"{each.found:.1f}",
                f"{each.told:.1f}",
                f"{each.false:.1f}",
                f"{each.nobodys:.1f}",
                f"{each.expected:.2f}",
                f"{each.covered:.2f}",
                f"{each.seconds:.1f}",
            )
            for each in results
        ],
        title=f"The {settings['k']} most frequent strings of the users drawn",
        words=["method"],
        numbers=["epsilon", "found", "told", "false", "nobody's", "expected", "covered", "seconds"],
        said=f"{settings['data']}: {settings['of']}, {quantity(settings['strings'], 'different string')}; "
        f"{quantity(settings['users'], 'user')}, repeats: {settings['repeats']}.",
    )
