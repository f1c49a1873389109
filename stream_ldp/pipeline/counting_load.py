"""The load that counting puts on a worker and on the partials topic, before a collection runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.open_pane import GATHERED_BYTES
from stream_ldp.pipeline.plan import Section
from stream_ldp.pipeline.seen_batches import table_bytes
from stream_ldp.pipeline.statistics.groups import groups_of
from stream_ldp.pipeline.statistics.sending import RECORD_BYTES, flush_seconds
from stream_ldp.quantity import memory, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.layout import Layout

#: Bytes of one pane and partition beyond which a worker is likely to lack memory: with four partitions and two open
#: panes they are 1 GiB.
MAX_MEMORY = 2**27

#: Bytes a second of partials of one partition beyond which a warning is due: four partitions send 10 MB, a tenth of a
#: network of 1 Gbit/s, and every merge reads them.
MAX_SENT = 2_500_000


@dataclass(frozen=True, kw_only=True, slots=True)
class CountingLoad:
    """The load of one pane of one source partition.

    reports: number of its reports.
    statistics: number of tables and sums that are counted.
    memory: bytes that they take in memory, and the reports that gather to be counted together.
    ids: bytes that the ids of batches take beside them, if each has one report.
    sent_per_second: bytes of partials a second, on average over the pane.
    """

    reports: int
    statistics: int
    memory: int
    ids: int
    sent_per_second: float


def counting_loads(collection: Collection, layout: Layout, *, populations: Sequence[int]) -> tuple[CountingLoad, ...]:
    """Work out the load of a collection for several numbers of reports in a pane of one partition.

    layout: that of the batches under the collection's own fingerprint.
    """
    pane_s = collection.window.pane_ms / 1_000
    flushes = max(1, round(pane_s / flush_seconds(collection.series)))
    found = []
    for reports in populations:
        tallies = layout.tallies()
        loads = {of: tally.load(reports=reports, flushes=flushes) for of, tally in tallies.items()}
        # All statistics of a group are sent together, and the others by themselves.
        together = list(groups_of(tallies))
        alone = loads.keys() - {of for group in together for of in group}
        records = sum(max(loads[of].records for of in group) for group in [*together, *((of,) for of in alone)])
        found.append(
            CountingLoad(
                reports=reports,
                statistics=len(loads),
                memory=sum(load.memory for load in loads.values())
                + min(GATHERED_BYTES, reports * row_width(layout.bits)),
                ids=table_bytes(reports),
                sent_per_second=(RECORD_BYTES * records + sum(load.sent for load in loads.values())) / pane_s,
            )
        )
    return tuple(found)


def too_much(loads: Sequence[CountingLoad]) -> Iterator[str]:
    """Say in sentences what is too much for a worker, each for the fewest reports that show it."""
    for load in loads:
        if load.memory > MAX_MEMORY:
            yield (
                f"with {quantity(load.reports, 'report')}, a pane takes {memory(load.memory)} of memory for each "
                "partition: estimate fewer attributes together, or give workers fewer partitions"
            )
            break
    for load in loads:
        if load.ids > MAX_MEMORY:
            yield (
                f"with {quantity(load.reports, 'report')}, the ids of their batches take {memory(load.ids)} of "
                "memory for each pane and partition, if each has one report: send larger batches, use shorter "
                "windows, or add partitions"
            )
            break
    for load in loads:
        if load.sent_per_second > MAX_SENT:
            yield (
                f"with {quantity(load.reports, 'report')} in a pane, each partition sends "
                f"{memory(round(load.sent_per_second))} of partials a second, which every merge reads: use longer "
                "windows, or estimate fewer attributes together"
            )
            break


def counting_section(loads: Sequence[CountingLoad]) -> Section:
    """Return the load as a section of a plan, with warnings."""
    return Section(
        title="Load of counting, for each partition, by reports of a pane",
        columns=("", *(f"{load.reports:,}" for load in loads)),
        rows=(
            ("tables", *(f"{load.statistics:,}" for load in loads)),
            ("memory of an open pane", *(memory(load.memory) for load in loads)),
            ("ids of single reports", *(memory(load.ids) for load in loads)),
            ("partials a second", *(memory(round(load.sent_per_second)) for load in loads)),
        ),
        notes=tuple(f"Too much: {sentence}." for sentence in too_much(loads)),
    )
