"""Run workers with one rule of the design broken on purpose: the controls of the fault tests.

python broken_worker.py RULE worker COLLECTION ...
"""

import asyncio
import sys
import time
from dataclasses import replace
from typing import Any

from aiokafka.errors import KafkaError

from stream_ldp import merge_step
from stream_ldp.cli import main
from stream_ldp.collection import Collection
from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.source_partition import Changes, SourcePartition
from stream_ldp.pipeline.statistics import Room
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.service import worker
from stream_ldp.service.ingest import Ingest
from stream_ldp.service.worker import Worker

_take_changes = SourcePartition.take_changes

_BEGAN = time.monotonic()
_CUT: list[float] = []


def _commit_the_read_position(self: SourcePartition, *, room: Room | None = None) -> Changes | None:
    changes = _take_changes(self, room=room)
    if changes is None:
        return None
    return replace(changes, checkpoint=replace(changes.checkpoint, offset=changes.checkpoint.position))


_turn = Ingest.turn


async def _end_once_by_a_cut_connection(self: Ingest) -> None:
    """Fail as aiokafka does when a connection is cut under some of its requests."""
    if time.monotonic() > _BEGAN + 6.0 and not _CUT:
        _CUT.append(time.monotonic())
        raise KafkaError("KafkaConnectionError('Connection at 127.0.0.1:9092 closed')")
    await _turn(self)


async def _end_always(self: Ingest) -> None:
    raise KafkaError("Unexpected error during coordination KeyError(7)")


def _solve_no_seven(collection: Collection, task: WindowTask[Any, Any]) -> Answer:
    if task.reports == 7 and collection.name == "survey":
        raise MemoryError("Unable to allocate 24.0 GiB")
    return solve(collection, task)


async def _hang(self: Worker) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    rule = sys.argv.pop(1)
    if rule == "commit-read-position":
        SourcePartition.take_changes = _commit_the_read_position  # type: ignore[method-assign]
    elif rule == "end-when-told":
        worker.STOP_SECONDS = 1.0
        Worker.stop = _hang  # type: ignore[method-assign]
    elif rule == "stay-connected":
        Ingest.turn = _end_once_by_a_cut_connection  # type: ignore[method-assign]
    elif rule == "ever-stay-connected":
        Ingest.turn = _end_always  # type: ignore[method-assign]
    elif rule == "solve-all-but-seven":
        merge_step.solve = _solve_no_seven  # type: ignore[attr-defined]
    else:
        sys.exit(f"no such rule: {rule}")
    main()
