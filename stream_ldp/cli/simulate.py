"""This command plays a table, or a file of item sets, as a population whose truth is known."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar

import numpy as np
import typer

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.displays.estimate_text import truth_line
from stream_ldp.cli.displays.marginal_text import marginal_truth_lines
from stream_ldp.cli.displays.place_text import place_truth_lines
from stream_ldp.cli.displays.string_text import string_truth_lines
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.population import load_population, sample
from stream_ldp.cli.inputs.table import BINS, MISSING, Binning
from stream_ldp.cli.kinds import face_of
from stream_ldp.cli.options import CLIENT, load_collections, with_settings
from stream_ldp.cli.progress import progress_bar
from stream_ldp.cli.running import run_client
from stream_ldp.cli.simulation.marginal_truth import MarginalTally
from stream_ldp.cli.simulation.options import SimulateOptions
from stream_ldp.cli.simulation.place_truth import PlaceTally
from stream_ldp.cli.simulation.string_truth import StringTally
from stream_ldp.cli.simulation.truth import Tally
from stream_ldp.cli.simulation.truth_file import TruthFile
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.sender import now_ms
from stream_ldp.collection.records import Missing
from stream_ldp.kafka.settings import Settings
from stream_ldp.mechanisms import Entropy, OSEntropy, SeededEntropy
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_ldp.cli.simulation.truth import Truth
    from stream_ldp.collection import Collection
    from stream_ldp.collection.records import CollectionOfRecords
    from stream_ldp.marginals.collection import SampledCollection
    from stream_ldp.places.collection import PlaceCollection
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.strings.collection import StringCollection
    from stream_ldp.views.collection import ViewsCollection

__all__ = [
    "simulate",
    "simulate_places",
    "simulate_records",
    "simulate_sampled",
    "simulate_strings",
    "simulate_views",
]

TruthT = TypeVar("TruthT", bound=TruthFile)
TruthT_co = TypeVar("TruthT_co", bound=TruthFile, covariant=True)

#: The most reports that share an event time; also those of one batch.
_STEP = 1_000
#: The fewest steps into which the reports of a past window are cut, so that they fill its time evenly.
_STEPS_A_WINDOW = 20
#: The fewest steps a second at a given rate.
_STEPS_A_SECOND = 10
#: Seconds between two versions of the truth's file.
_SAVE_INTERVAL = 1.0


@with_settings(CLIENT)
def simulate(
    file: CollectionFile,
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet file with a column for each attribute; other columns are ignored. For an item "
            "collection, a text file with a user's items on each line, separated by blanks. Read as Parquet if its "
            "name ends in .parquet, and as gzip if in .gz.",
            exists=True,
            dir_okay=False,
        ),
    ],
    users: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of simulated users, drawn from the rows of the file without replacement, or with "
            "replacement if there are fewer rows.",
            show_default="one for each row",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Number of reports a second.", show_default="as fast as possible"),
    ] = None,
    windows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of windows, which have just passed, over which the reports are spread evenly.",
            show_default="now",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of epochs of an item collection to report in, from the next one on.", show_default="1"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the users and the noise, which repeats a simulation.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="JSON file to which the truth is written, again and again, for watch --truth.", dir_okay=False
        ),
    ] = None,
    bins: BINS = None,
    missing: MISSING = Missing.REFUSE,
    settings: Settings,
) -> None:
    """Draw simulated users from the file and publish their reports.

    For a collection of records, strings or places, or a sampled one, each user reports once. The command prints what
    is true of those who have reported, for every window, or writes it to --truth. Past windows must not be closed
    already: use a collection that nobody else reports to. The last of them closes when its partitions have been idle
    for the collection's idle_timeout.

    For a collection of item sets, the users report live in the phases of the next epochs, as a worker asks them. The
    command prints a line for each phase, and in the end the true top k.
    """
    (collection,) = load_collections([file]).values()
    if truth is not None and not truth.parent.is_dir():
        # Later, reports would have been published of which nothing is known.
        fail(f"--truth {truth}: there is no directory {truth.parent}", code=2)
    if seed is not None:
        echo(f"The noise comes from seed {seed} and hides nothing: use it for simulated users only.", err=True)
    options = SimulateOptions(
        data=data,
        users=users,
        rate=rate,
        windows=windows,
        epochs=epochs,
        seed=seed,
        truth_file=truth,
        bins=Binning.of(bins),
        missing=missing,
        settings=settings,
    )
    face_of(collection).simulate(collection, options)


def simulate_records(collection: JointCollection, options: SimulateOptions) -> None:
    """Play the rows of a table as users who report once each to a collection of joint distributions."""
    axes = {each.name: [axis.labels for axis in collection.attributes_of(each)] for each in collection.estimates}
    _simulate_joints(collection, options, axes=axes)


def simulate_views(collection: ViewsCollection, options: SimulateOptions) -> None:
    """Play the rows of a table as users who each tell one view, once."""
    axes = {each.name: [axis.labels for axis in collection.attributes_of(each)] for each in collection.estimates}
    _simulate_joints(collection, options, axes=axes)


def _simulate_joints(
    collection: JointCollection | ViewsCollection,
    options: SimulateOptions,
    *,
    axes: Mapping[str, Sequence[Sequence[str]]],
) -> None:
    """Play a population of joint distributions.

    axes: by estimate, the values of each of its axes.
    """
    population = _population(collection, options)

    def lines(truth: Truth) -> Iterator[str]:
        for name, values in axes.items():
            for each in truth.windows[name]:
                yield truth_line(name, values, each)

    _simulate(collection, options, population, tally=Tally(collection, population), lines=lines)


def simulate_sampled(collection: SampledCollection, options: SimulateOptions) -> None:
    """Play the rows of a table as users who report once each to a sampled collection."""
    population = _population(collection, options)
    tally = MarginalTally(collection, population)
    _simulate(collection, options, population, tally=tally, lines=marginal_truth_lines)


def simulate_places(collection: PlaceCollection, options: SimulateOptions) -> None:
    """Play the rows of a table as users who report their places, each within a region and at an epsilon."""
    population = _population(collection, options)
    tally = PlaceTally(collection, population)
    _simulate(collection, options, population, tally=tally, lines=place_truth_lines)


def simulate_strings(collection: StringCollection, options: SimulateOptions) -> None:
    """Play the rows of a table as users who report one string each."""
    population = _population(collection, options)
    tally = StringTally(collection, population)
    _simulate(collection, options, population, tally=tally, lines=string_truth_lines)


def _population(collection: CollectionOfRecords, options: SimulateOptions) -> NDArray[Any]:
    if options.epochs is not None:
        fail(f"--epochs is for collections of item sets, which {collection.name} is not: leave it out", code=2)
    encoded = load_population(options.data, collection, bins=options.bins, missing=options.missing)
    if encoded.left_out:
        echo(f"{quantity(encoded.left_out, 'row')} without a value, left out", err=True)
    return encoded.table


def _simulate(
    collection: CollectionOfRecords,
    options: SimulateOptions,
    population: NDArray[Any],
    *,
    tally: _Tally[TruthT],
    lines: Callable[[TruthT], Iterable[str]],
) -> None:
    """Play a population.

    tally: counts what is true of the users who have reported.
    lines: shows a truth, where no file is asked for.
    """
    count, windows = options.users or len(population), options.windows
    event_time = _live if windows is None else _past(windows, count, collection, now_ms())
    sampling, noise = np.random.SeedSequence(options.seed).spawn(2)
    simulation = _Simulation(
        collection=collection,
        people=sample(population, count, np.random.default_rng(sampling)),
        event_time=event_time,
        rate=options.rate,
        step=_step(count, windows, options.rate),
        entropy=OSEntropy() if options.seed is None else SeededEntropy(noise),
        tally=tally,
        lines=lines,
        truth_file=options.truth_file,
    )
    run_client(simulation.play(options.settings))


def _step(count: int, windows: int | None, rate: float | None) -> int:
    limits = [_STEP]
    if windows is not None:
        limits.append(count // (windows * _STEPS_A_WINDOW))
    if rate is not None:
        limits.append(int(rate / _STEPS_A_SECOND))
    return max(1, min(limits))


def _live(_: int) -> int:
    return now_ms()


def _past(windows: int, count: int, collection: Collection, now: int) -> Callable[[int], int]:
    """Spread event times evenly over the last windows before `now`, in milliseconds, by the number of a report."""
    window = collection.window
    end = pane_of(now, window)
    span = windows * window.size_ms
    if now - (end - span) > window.max_age_ms:
        most = (window.max_age_ms - (now - end)) // window.size_ms
        fail(f"--windows {windows}: reports older than max_age, {window.max_age_ms} ms, are refused; at most {most}")
    return lambda number: end - span + span * number // count


class _Tally(Protocol[TruthT_co]):
    """A counter of what is true of the users who have reported."""

    def add(self, values: NDArray[Any], *, time_ms: int) -> None:
        """Add users who report at one event time."""
        ...

    def truth(self) -> TruthT_co:
        """Compute the truth of the users that have been added so far."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Simulation(Generic[TruthT]):
    """A run of the simulation.

    people: users, one a row, in the order of reporting.
    event_time: gives the event time of a report, in milliseconds, by its number.
    rate: reports a second; None for as many as possible.
    step: number of reports that share an event time.
    """

    collection: CollectionOfRecords
    people: NDArray[Any]
    event_time: Callable[[int], int]
    rate: float | None
    step: int
    entropy: Entropy
    tally: _Tally[TruthT]
    lines: Callable[[TruthT], Iterable[str]]
    truth_file: Path | None

    async def play(self, settings: Settings) -> None:
        begun = time.monotonic()
        time_ms = 0
        saved = -np.inf
        reporter = Reporter(
            self.collection, settings=settings, entropy=self.entropy, clock=lambda: time_ms, max_reports=_STEP
        )
        try:
            with progress_bar() as progress:
                task = progress.add_task("reports", total=len(self.people))
                async with reporter:
                    for first in range(0, len(self.people), self.step):
                        if self.rate is not None:
                            await asyncio.sleep(begun + first / self.rate - time.monotonic())
                        time_ms = self.event_time(first)
                        people = self.people[first : first + self.step]
                        await reporter.report_many(people, secrets=None)
                        # The truth is that of users whose reports have been made, if the rest never are.
                        self.tally.add(people, time_ms=time_ms)
                        progress.update(task, advance=len(people))
                        if time.monotonic() - saved > _SAVE_INTERVAL:
                            self._save()
                            saved = time.monotonic()
        finally:
            # Whoever ends it early wants to know how far it has come.
            if reporter.acknowledged:
                self._save()
                self._say(reporter.acknowledged, seconds=time.monotonic() - begun)

    def _say(self, acknowledged: int, *, seconds: float) -> None:
        echo(f"{quantity(acknowledged, 'report')} of as many simulated users in {seconds:.1f} s")
        if self.truth_file is None:
            for line in self.lines(self.tally.truth()):
                echo(line)

    def _save(self) -> None:
        if self.truth_file is not None:
            self.tally.truth().save(self.truth_file)
