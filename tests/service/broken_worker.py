"""This module runs workers with one rule of the design broken on purpose: the controls of the fault tests.

python broken_worker.py RULE worker COLLECTION ...
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from stream_ldp.cli import main
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.service import worker
from stream_ldp.service.worker import Worker

if TYPE_CHECKING:
    from stream_ldp.pipeline.source_partition import Changes

_take_changes = SourcePartition.take_changes


def _commit_the_read_position(self: SourcePartition) -> Changes | None:
    changes = _take_changes(self)
    if changes is None:
        return None
    return replace(changes, checkpoint=replace(changes.checkpoint, offset=changes.checkpoint.position))


async def _hang(self: Worker) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    rule = sys.argv.pop(1)
    if rule == "commit-read-position":
        SourcePartition.take_changes = _commit_the_read_position  # type: ignore[method-assign]
    elif rule == "end-when-told":
        worker.STOP_SECONDS = 1.0
        Worker.stop = _hang  # type: ignore[method-assign]
    else:
        sys.exit(f"no such rule: {rule}")
    main()
