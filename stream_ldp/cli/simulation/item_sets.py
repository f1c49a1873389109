"""This module runs `stream-ldp simulate` for an item collection: a population with a known top k reports live."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import load_item_sets
from stream_ldp.cli.inputs.population import sample
from stream_ldp.cli.running import run_client, until_signal
from stream_ldp.cli.simulation.truth import Tally
from stream_ldp.client.item_population import ItemPopulation
from stream_ldp.collection.records import Missing
from stream_ldp.mechanisms import OSEntropy, SeededEntropy
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from stream_ldp.cli.simulation.options import SimulateOptions
    from stream_ldp.sets.collection import ItemCollection
    from stream_ldp.sets.item_sets import ItemSets
    from stream_ldp.sets.rounds import Round

__all__ = ["simulate_items"]


def simulate_items(collection: ItemCollection, options: SimulateOptions) -> None:
    """Play the sets of a file as a population, from the next epoch on."""
    if options.rate is not None or options.windows is not None:
        fail("--rate and --windows are for collections of records: item sets are reported live", code=2)
    if options.bins.edges or options.missing is not Missing.REFUSE:
        fail("--bins and --missing are for tables of records; a user without items has an empty line", code=2)
    users, seed, epochs = options.users, options.seed, options.epochs or 1
    given = load_item_sets(options.data, collection)
    sampling, noise = np.random.SeedSequence(seed).spawn(2)
    sets = given.take(sample(np.arange(len(given)), users or len(given), np.random.default_rng(sampling)))
    truth = Tally(collection, sets).truth()
    if options.truth_file is not None:
        truth.save(options.truth_file)
    population = ItemPopulation(
        collection, sets, settings=options.settings, entropy=OSEntropy() if seed is None else SeededEntropy(noise)
    )
    begun = time.monotonic()
    try:
        run_client(until_signal(_play(population, collection, sets, epochs=epochs)))
    finally:
        seconds, drawn = time.monotonic() - begun, quantity(len(sets), "simulated user")
        echo(f"{quantity(population.acknowledged, 'report')} of {drawn} in {seconds:.1f} s")
    echo(f"true top {collection.method.k}:")
    numbers = truth.population.numbers("items")
    best = sorted(numbers, key=lambda key: -numbers[key])[: collection.method.k]
    for rank, key in enumerate(best, start=1):
        echo(f"{rank:4} {', '.join(key[1])} {numbers[key]:.4f}")


async def _play(population: ItemPopulation, collection: ItemCollection, sets: ItemSets, *, epochs: int) -> None:
    phases = 0

    def show(asked: Round, reports: int) -> None:
        nonlocal phases
        phases += 1
        about = collection.items.count if asked.candidates is None else len(asked.candidates)
        echo(
            f"epoch {asked.epoch} phase {asked.phase} of {len(collection.method.phases)}: {reports:,} of "
            f"{quantity(len(sets), 'user')} reported on {quantity(about, 'item')}"
        )

    async with population:
        await population.run(epochs=epochs, on_phase=show)
    if missing := epochs * len(collection.method.phases) - phases:
        asked_never = f"{quantity(missing, 'phase')} of {quantity(epochs, 'epoch')} asked nobody anything"
        echo(f"{asked_never}: is a worker running, and are its windows long enough?", err=True)
