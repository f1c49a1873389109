"""This command plays a table, or a file of item sets, as a population whose truth is known."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from aiokafka.errors import KafkaError

from stream_ldp.cli.arguments import CollectionFile
from stream_ldp.cli.displays.answer_text import truth_line
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import fail
from stream_ldp.cli.inputs.item_sets import load_item_sets
from stream_ldp.cli.inputs.population import load_population, sample
from stream_ldp.cli.inputs.table import BINS, DATA_HELP, MISSING, Binning
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.running import run_client, until_signal
from stream_ldp.cli.simulation.truth import TruthTally
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.collection.records import CollectionOfRecords, Missing
from stream_ldp.kafka.log import LogReader, existing_topics
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import kind_of, load_collection, rounds_of
from stream_ldp.mechanisms import Entropy, OSEntropy, SeededEntropy
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.pipeline.wire import Header
from stream_ldp.quantity import quantity
from stream_ldp.steps import share

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from numpy.typing import NDArray

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.kind import RoundMessage

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
            help=DATA_HELP,
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

    Each user reports once. The command prints what is true of those who have reported, for every window, or writes it
    to --truth. Past windows must not be closed already: use a collection that nobody else reports to. The last
    of them closes when its partitions have been idle for the collection's idle_timeout.

    Users of a collection of item sets report live in the phases of the next epochs, as a worker asks them. The
    command prints a line for each phase, and in the end the true top k.
    """
    collection: Any = load_collection(file)
    if truth is not None and not truth.parent.is_dir():
        # Found later, it would leave reports on the topic without their truth.
        fail(f"--truth {truth}: there is no directory {truth.parent}", code=2)
    if seed is not None:
        echo(f"The noise comes from seed {seed} and hides nothing: use it for simulated users only.", err=True)
    options = _Options(
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
    if kind_of(collection).rounds is None:
        _simulate_records(collection, options)
    else:
        _simulate_rounds(collection, options)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """The options of `simulate`; records and sets refuse those of the other.

    data: file of the population.
    users: number of users; None for one for each row.
    rate, windows: reports a second, and number of windows to spread them over, for a collection of records.
    epochs: number of epochs to report in, for a collection of item sets.
    bins, missing: bins of numeric columns, and what becomes of rows that lack a value, for a collection of records.
    """

    data: Path
    users: int | None
    rate: float | None
    windows: int | None
    epochs: int | None
    seed: int | None
    truth_file: Path | None
    bins: Binning
    missing: Missing
    settings: Settings


def _simulate_records(collection: CollectionOfRecords, options: _Options) -> None:
    """Play the rows of a table as users who report once each."""
    if options.epochs is not None:
        fail(f"--epochs is for collections of item sets, which {collection.name} is not: leave it out", code=2)
    encoded = load_population(options.data, collection, bins=options.bins, missing=options.missing)
    if encoded.left_out:
        echo(f"{quantity(encoded.left_out, 'row')} without a value, left out", err=True)
    population = encoded.table
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
        tally=TruthTally(collection, population),
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Simulation:
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
    tally: TruthTally
    truth_file: Path | None

    async def play(self, settings: Settings) -> None:
        begun = time.monotonic()
        time_ms = 0
        saved = -np.inf
        reporter = Reporter(
            self.collection, settings=settings, entropy=self.entropy, clock=lambda: time_ms, max_reports=_STEP
        )
        try:
            with share("reports", len(self.people)) as advance:
                async with refusals_shown(self.collection, settings), reporter:
                    for first in range(0, len(self.people), self.step):
                        if self.rate is not None:
                            await asyncio.sleep(begun + first / self.rate - time.monotonic())
                        time_ms = self.event_time(first)
                        people = self.people[first : first + self.step]
                        await reporter.report_many(people, secrets=None)
                        # The truth is that of users whose reports have been made, if the rest never are.
                        self.tally.add(people, time_ms=time_ms)
                        advance(len(people))
                        if time.monotonic() - saved > _SAVE_INTERVAL:
                            self._save()
                            saved = time.monotonic()
        finally:
            # A user who ends it early wants to know how far it has come.
            if reporter.acknowledged:
                self._save()
                self._say(reporter.acknowledged, seconds=time.monotonic() - begun)

    def _say(self, acknowledged: int, *, seconds: float) -> None:
        echo(f"{quantity(acknowledged, 'report')} of as many simulated users in {seconds:.1f} s")
        if self.truth_file is None:
            truth = self.tally.truth()
            for target in truth.population.targets:
                for window in truth.windows:
                    echo(truth_line(window.window, target, window.users, window.numbers(target)))

    def _save(self) -> None:
        if self.truth_file is not None:
            self.tally.truth().save(self.truth_file)


def _simulate_rounds(collection: Any, options: _Options) -> None:
    """Play the sets of a file as users who answer the rounds of the next epochs."""
    if options.rate is not None or options.windows is not None:
        fail("--rate and --windows are for collections of records: item sets are reported live", code=2)
    if options.bins.edges or options.missing is not Missing.REFUSE:
        fail("--bins and --missing are for tables of records; a user without items has an empty line", code=2)
    users, seed, epochs = options.users, options.seed, options.epochs or 1
    given = load_item_sets(options.data, collection)
    sampling, noise = np.random.SeedSequence(seed).spawn(2)
    sets = given[sample(np.arange(len(given)), users or len(given), np.random.default_rng(sampling))]
    truth = TruthTally(collection, sets).truth()
    if options.truth_file is not None:
        truth.save(options.truth_file)
    reporter = Reporter(
        collection, settings=options.settings, entropy=OSEntropy() if seed is None else SeededEntropy(noise)
    )
    begun = time.monotonic()
    try:
        run_client(until_signal(_play(reporter, collection, sets, epochs=epochs, settings=options.settings)))
    finally:
        seconds, drawn = time.monotonic() - begun, quantity(len(sets), "simulated user")
        echo(f"{quantity(reporter.acknowledged, 'report')} of {drawn} in {seconds:.1f} s")
    for target in truth.population.targets or ("items",):
        wanted = collection.wanted(target)
        echo(f"true top {wanted} {target}:")
        numbers = truth.population.numbers(target)
        best = sorted(numbers, key=lambda key: -numbers[key])[:wanted]
        for rank, key in enumerate(best, start=1):
            echo(f"{rank:4} {', '.join(key[1])} {numbers[key]:.4f}")


async def _play(reporter: Reporter, collection: Collection, sets: Any, *, epochs: int, settings: Settings) -> None:
    rounds = rounds_of(collection)
    phases, answered = rounds.schedule(collection).phases, 0

    def show(asked: RoundMessage, reports: int) -> None:
        nonlocal answered
        answered += 1
        echo(
            f"epoch {asked.epoch} phase {asked.phase} of {phases}: {reports:,} of "
            f"{quantity(len(sets), 'user')} reported on {rounds.about(collection, asked)}"
        )

    async with refusals_shown(collection, settings), reporter:
        await reporter.report_many(sets, secrets=None, epochs=epochs, on_round=show)
    if missing := epochs * phases - answered:
        asked_never = f"{quantity(missing, 'phase')} of {quantity(epochs, 'epoch')} asked nobody anything"
        echo(f"{asked_never}: is a worker running, and are its windows long enough?", err=True)


#: Time without a dead letter after which no more are waited for, in milliseconds. A worker that keeps up refuses what
#: it reads within some hundred.
_QUIET_MS = 1_000


@asynccontextmanager
async def refusals_shown(collection: Collection, settings: Settings) -> AsyncIterator[None]:
    """Say at the end of a block how many reports of the collection workers have refused meanwhile, and why.

    Nothing is said to a user who may not read the dead letters, as most who report may not.
    """
    topic = settings.topic_names.dead_letters(collection.name)
    log = LogReader(topic, settings=settings, from_beginning=False)
    try:
        exists = topic in await existing_topics(settings)
        if exists:
            await log.start()
    except KafkaError:
        exists = False
    try:
        yield
        if exists:
            await _tell(log, collection)
    finally:
        await log.stop()


async def _tell(log: LogReader, collection: Collection) -> None:
    # Not imported above: a command of clients begins without the service.
    from stream_ldp.service.dead_letters import DeadLetter  # noqa: PLC0415

    refused: Counter[str] = Counter()
    with suppress(KafkaError):
        while records := await log.fetch(timeout_ms=_QUIET_MS):
            for record in records:
                try:
                    letter = DeadLetter.of(record)
                except ValueError:
                    continue  # `dead-letters list` says what it is
                header = None if letter.value is None else Header.of(letter.value)
                refused[letter.reason.value] += letter.count * (1 if header is None else header.count)
    if refused:
        each = ", ".join(f"{count:,} {reason}" for reason, count in refused.most_common())
        echo(
            f"workers have refused {quantity(refused.total(), 'report')} of {collection.name} meanwhile: {each}",
            f"  -> see them: stream-ldp dead-letters list {collection.name}",
            err=True,
        )
