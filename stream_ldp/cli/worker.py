"""`stream-ldp worker`: count reports and publish estimates."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from stream_ldp.cli.options import WORKER, load_collections, with_settings
from stream_ldp.cli.running import run
from stream_ldp.kafka.settings import Settings
from stream_ldp.service.worker import WorkerCrashed
from stream_ldp.service.worker import run as serve

__all__ = ["worker"]

log = logging.getLogger(__name__)


@with_settings(WORKER)
def worker(
    files: Annotated[list[Path], typer.Argument(metavar="COLLECTION", help="Collection files.", dir_okay=False)],
    *,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log what the Kafka clients do, too.")] = False,
    settings: Settings,
) -> None:
    """Run one worker.

    Workers share the work: start as many as a reports topic has partitions. Each checks its topics first and ends at
    once if one is missing. Ends with 0 after a stop, 1 when it could not go on, 2 for settings that are wrong.
    """
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z"
    )
    if not verbose:
        # They print the values of messages, and repeat, many times a second, what the worker says itself.
        for name in ("aiokafka", "faust", "mode"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    collections = load_collections(files)
    try:
        run(serve(settings, collections))
    except WorkerCrashed as error:
        log.critical("%s: %r", error, error.__cause__, exc_info=error.__cause__)
        code = 1
    else:
        log.info("stopped")
        code = 0
    logging.shutdown()
    # A solve that is under way would keep its thread, and with it the process; its answer is not wanted any more.
    os._exit(code)
