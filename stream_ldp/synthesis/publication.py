"""The records that are published with a final: a function of what the final is made of and a seed alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.collection.synthesis import CHUNK_BYTES, SynthesisSpec, SynthesizingCollection, record_bytes
from stream_ldp.pipeline.answer import Answer, Status
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.distribution import Axis
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.records import MAX_CELLS, SyntheticRecords, synthesize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_ldp.pipeline.merging import Merge

#: Most cells of a clique of LoPub as published. Its joints are estimated from the reports, which takes minutes for
#: wider ones.
_PUBLISHED_CELLS = 128


def synthetic(
    collection: SynthesizingCollection,
    task: WindowTask[Any, Any],
    *,
    spec: SynthesisSpec,
    earlier: Mapping[str, Any],
    seed: int | None = None,
) -> SyntheticRecords:
    """Make the records of a window.

    task: about the collection's `whole`.
    earlier: the previous final of each estimate that has one, by the estimate's name.
    seed: in place of the spec's and the window.
    """
    return synthesize(
        collection.marginals(collection, task, earlier=earlier, stop=spec.stop),
        records=spec.records,
        # Each window has draws of its own, or what chance does to one would be done to all.
        seed=(spec.seed, max(0, task.window_ms)) if seed is None else seed,
        method=spec.method,
        most_cells=_PUBLISHED_CELLS if spec.stop == "paper" else MAX_CELLS,
    )


def are_due(task: WindowTask[Any, Any], estimated: WindowTask[Any, Any], final: Answer) -> bool:
    """Decide whether records are made with a final.

    None are made of a window without reports, nor of a part of its reports: of a window that was still open when its
    collection began to ask for records, or whose counts have expired, there may be less than the final has seen. The
    same goes for the earlier windows that an estimate of linked reports, or one with memory, is made of.

    task: about the collection's `whole`.
    estimated: about an estimate of the same window.
    """
    same = task.reports_by_window == estimated.reports_by_window
    return final.status is Status.ANSWERED and same and task.reports == final.reports > 0


def published(
    collection: SynthesizingCollection,
    task: WindowTask[Any, Any],
    final: Estimate,
    *,
    earlier: Mapping[str, Any],
) -> Iterator[SyntheticChunk]:
    """Make the records of a window, and yield the chunks that are published with its first final, in order.

    task: about the collection's `whole`.
    final: a final of the window, whose reports and privacy are those of the records.
    earlier: the previous final of each estimate that has one, by the estimate's name.

    Raises:
        ValueError: the collection asks for no records.
    """
    spec = collection.synthesis
    if spec is None:
        raise ValueError(f"{collection.name} asks for no records")
    found = synthetic(collection, task, spec=spec, earlier=earlier)
    length = max(1, CHUNK_BYTES // record_bytes(collection.record_sizes))
    parts = [found.records[begin : begin + length] for begin in range(0, spec.records, length)]
    axes = tuple(
        Axis(attribute=attribute.name, values=labels)
        for attribute, labels in zip(collection.attributes, collection.record_labels, strict=True)
    )
    for number, part in enumerate(parts):
        yield SyntheticChunk(
            collection=final.collection,
            fingerprint=final.fingerprint,
            sources=final.sources,
            window=final.window,
            reports=final.reports,
            method=spec.method,
            seed=spec.seed,
            total=spec.records,
            chunk=number,
            chunks=len(parts),
            structure=found.structure,
            attributes=axes,
            records=part.tolist(),
            privacy=final.privacy,
            linking=None if final.linked is None else final.linked.privacy,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowRecords:
    """The records of one window, as all that they are made of.

    spec: what the collection asks for.
    task: about the collection's `whole`.
    estimated: about an estimate of the same window.
    final: a final of the window.
    earlier: the previous final of each estimate that has one, by the estimate's name.
    """

    collection: SynthesizingCollection
    spec: SynthesisSpec
    task: WindowTask[Any, Any]
    estimated: WindowTask[Any, Any]
    final: Estimate
    earlier: Mapping[str, Any]

    @property
    def are_due(self) -> bool:
        """Whether they are made; see `are_due`."""
        return are_due(self.task, self.estimated, self.final)

    def chunks(self) -> Iterator[SyntheticChunk]:
        """Make them, and yield the chunks that are published, in order."""
        return published(self.collection, self.task, self.final, earlier=self.earlier)


def window_records(merge: Merge, final: Any) -> WindowRecords | None:
    """Take the records of a window from a merge that still holds it; None if its collection asks for none.

    final: a final of the window.
    """
    collection: Any = merge.collection
    if collection.synthesis is None:
        return None
    start_ms = final.window.start_ms
    return WindowRecords(
        collection=collection,
        spec=collection.synthesis,
        task=merge.task(start_ms, collection.whole, final=True),
        estimated=merge.task(start_ms, collection.series[0], final=True),
        final=final,
        earlier=merge.earlier(start_ms),
    )
