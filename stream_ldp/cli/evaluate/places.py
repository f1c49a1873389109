"""This command measures what regions and epsilons of the users' own choice gain on a known population of places."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_ldp.cli.evaluate._options import AsJson, Repeats, Seed, Users
from stream_ldp.cli.evaluate._results import echo_json, show_results
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.population import load_population
from stream_ldp.cli.options import load_collections
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.evaluation import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.places.evaluation import Score

__all__ = ["places"]


def places(
    file: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="File of a collection of places.", dir_okay=False)
    ],
    *,
    data: Annotated[
        Path,
        typer.Option(help="CSV file with the columns place, region and epsilon, one user a line, gzipped if .gz."),
    ],
    users: Users = None,
    repeats: Repeats = 10,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Count the users of each place, with their regions and without.

    rmse is the root mean squared error of the count of a place, raw and projected, and rmse_expected what the
    standard errors give for the raw one. Without regions, every user tells the place out of all, at the least epsilon
    of the file. The truth is that of the users drawn. Seconds are those of a repeat.
    """
    (collection,) = load_collections([file]).values()
    if not isinstance(collection, PlaceCollection):
        fail(f"{file}: not a collection of places: its mechanism needs `kind: places`", code=2)
    population = load_population(data, collection).table
    found = scores(
        collection,
        population,
        users=users or len(population),
        repeats=repeats,
        seed=seed,
        clock=time.perf_counter,
    )
    settings = {"data": data.name, "users": users or len(population), "repeats": repeats, "seed": seed}
    if as_json:
        echo_json(settings, [asdict(each) for each in found])
    else:
        _show(found)


def _show(results: Sequence[Score]) -> None:
    show_results(
        [
            (
                each.regions,
                each.weights,
                f"{each.rmse:.4g}",
                f"{each.rmse_expected:.4g}",
                f"{each.rmse_projected:.4g}",
                f"{each.seconds:.3f}",
            )
            for each in results
        ],
        title="Root mean squared error of the count of a place",
        words=["regions", "weights"],
        numbers=["raw", "expected", "projected", "seconds"],
    )
