"""This command makes synthetic records from the reports of a window, or takes those that were published."""

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionFile, WindowStart, milliseconds
from stream_ldp.cli.echo import echo
from stream_ldp.cli.failure import UNANSWERABLE, fail
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.collection import Collection
from stream_ldp.collection.synthesis import Synthesis, SynthesisSpec, SynthesizingCollection
from stream_ldp.extras import imported
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import chunk_class, load_collection, synthetic_of
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.recount import answer_before
from stream_ldp.quantity import quantity
from stream_ldp.service.replay import NotReplayed, published_finals, recounted

#: Most records: they are in memory all at once, with 8 bytes for each of up to a few dozen attributes.
_MAX_RECORDS = 10_000_000


@with_settings(CLIENT)
async def synthesize(
    file: CollectionFile,
    *,
    window: WindowStart = None,
    records: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=_MAX_RECORDS,
            help="Number of records.",
            show_default="that of the file, or one for each report",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed; the same one makes the same records of the same window.",
            show_default="that of the file, or 0",
        ),
    ] = None,
    method: Annotated[
        Synthesis | None,
        typer.Option(
            help="How attributes may depend on each other: as far as the evidence goes, as LoPub has it, in a tree, "
            "or not at all.",
            show_default="that of the file, or auto",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Take the records that a worker has published with the final, which needs no access to reports.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write them to; Parquet if its name ends in .parquet, otherwise CSV.",
            show_default="standard output",
            dir_okay=False,
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Make records that have the estimated joint distributions of a window, from the reports in the log.

    They are records of nobody: a function of the estimates and the seed, so they cost no more privacy than the
    reports have. The records lack any dependence that the estimates lack, such as that of three attributes beyond
    their pairs.

    Where the collection file asks for records (`synthesis`), workers publish the same ones with each final.
    """
    collection: Any = load_collection(file)
    synthetic_of(collection)
    other = collection.counting_all()
    window_ms = milliseconds(window)
    if not published:
        options = _Options(records=records, seed=seed, method=method)
        await _make(collection, other, options, settings, window_ms=window_ms, output=output)
        return
    if any(each is not None for each in (records, seed, method)):
        fail("--published takes the records as they are: leave --records, --seed and --method out", code=2)
    await _take(collection.name, settings, window_ms=window_ms, output=output)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """What was said of the records to make; None where the file says it, or nobody."""

    records: int | None
    seed: int | None
    method: Synthesis | None

    def over(self, asked: SynthesisSpec | None, *, reports: int) -> SynthesisSpec:
        """Return what to make, given what the file asks for, and the number of reports of the window."""
        return SynthesisSpec(
            records=self.records or (reports if asked is None else asked.records),
            seed=(0 if asked is None else asked.seed) if self.seed is None else self.seed,
            method=self.method or (Synthesis.AUTO if asked is None else asked.method),
            stop=None if asked is None else asked.stop,
        )


async def _make(
    collection: Collection,
    counted: SynthesizingCollection,
    options: _Options,
    settings: Settings,
    *,
    window_ms: int | None,
    output: Path | None,
) -> None:
    """Write records that are made from the reports of a window.

    counted: has the same reports, and counts all of them that records are made from.
    """
    try:
        task, start_ms = await recounted(collection, counted, settings=settings, window_ms=window_ms)
        finals = await published_finals(collection, settings=settings)
    except NotReplayed as error:
        fail(str(error), code=UNANSWERABLE)
    synthetic = synthetic_of(collection)
    everything = task(counted.whole)
    # Of a file that asks for none, `counted` asks for a number that says nothing.
    asked = None if counted is not collection else counted.synthesis
    before = {each.name: answer_before(collection, each, start_ms, finals) for each in collection.series}
    found = synthetic.make(
        counted,
        everything,
        spec=options.over(asked, reports=everything.reports),
        earlier={name: answer for name, answer in before.items() if answer is not None},
    )
    columns = synthetic.columns(counted, found.records)
    _write({name: column.tolist() for name, column in columns.items()}, output)
    widest = max(map(len, found.cliques))
    echo(
        f"{collection.name} {moment(start_ms)}: {quantity(len(found.records), 'record')} from "
        f"{quantity(everything.reports, 'report')}; structure: {found.structure}, up to "
        f"{quantity(widest, 'attribute')} drawn together",
        err=True,
    )


async def _take(name: str, settings: Settings, *, window_ms: int | None, output: Path | None) -> None:
    windows: dict[int, dict[str, dict[int, Any]]] = {}
    async with Subscriber(name, chunk_class(), settings=settings, from_beginning=True, follow=False) as chunks:
        async for each in chunks:
            made = windows.setdefault(each.window.start_ms, {})
            made.setdefault(each.series.rpartition("-")[0], {})[each.chunk] = each
    # Those that are being published may not be complete yet.
    complete = {
        start_ms: [whole[number] for number in sorted(whole)]
        for start_ms, made in windows.items()
        for whole in made.values()
        if len(whole) == next(iter(whole.values())).chunks
    }
    start_ms = max(complete, default=None) if window_ms is None else window_ms
    if start_ms is None or start_ms not in complete:
        fail(
            f"{name}: no records of {'any' if window_ms is None else 'this'} window are published", code=UNANSWERABLE
        )
    found: Sequence[Any] = complete[start_ms]
    columns: dict[str, list[str]] = {axis.attribute: [] for axis in found[0].attributes}
    for chunk in found:
        for attribute, values in chunk.columns().items():
            columns[attribute] += values
    _write(columns, output)
    echo(
        f"{name} {moment(start_ms)}: {quantity(found[0].total, 'record')} from "
        f"{quantity(found[0].reports, 'report')}, as published; structure: {found[0].structure}",
        err=True,
    )


def _write(columns: Mapping[str, list[str]], output: Path | None) -> None:
    if output is None:
        _write_csv(columns, sys.stdout)
        return
    try:
        if output.suffix == ".parquet":
            table = imported("pyarrow", extra="analysis").table(dict(columns))
            imported("pyarrow.parquet", extra="analysis").write_table(table, str(output))
        else:
            with output.open("w", encoding="utf-8", newline="") as file:
                _write_csv(columns, file)
    except OSError as error:
        fail(f"{output}: cannot be written: {error.strerror}")


def _write_csv(columns: Mapping[str, list[str]], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
