"""This command runs a worker, which counts reports and publishes answers."""

import logging
import os
import threading
from pathlib import Path
from typing import Annotated

import typer
from aiokafka.errors import KafkaError

from stream_ldp import __version__
from stream_ldp.cli.descriptors import EACH_COLLECTION, LEAST, require_descriptors
from stream_ldp.cli.failure import fail
from stream_ldp.cli.logs import begin_log
from stream_ldp.cli.options import WORKER, load_collections, with_settings
from stream_ldp.cli.running import run
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.tracing import begin_tracing, end_tracing
from stream_ldp.service.worker import WorkerCrashed
from stream_ldp.service.worker import run as serve

log = logging.getLogger(__name__)


@with_settings(WORKER)
def worker(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[COLLECTION]...",
            help="Collection files; without any, all collections of the registry, as they come and go.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    *,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also log what the Kafka clients do.")] = False,
    settings: Settings,
) -> None:
    """Run one worker.

    Without a file it follows the registry: a collection is begun, changed and retired without a restart, by `topics
    create` and `topics retire`, and one that cannot be served waits while the others go on.

    Workers share the work: start at most as many as a reports topic has partitions. Each checks its topics first and
    exits at once if one is missing. The exit status is 0 after a stop, 1 if the worker could not go on, and 2 if the
    settings are wrong.
    """
    begin_log(settings, libraries=verbose)
    if not verbose:
        # Faust's threads end with the exceptions that the worker itself has received.
        threading.excepthook = lambda ended: log.debug(
            "thread %s ended: %r", ended.thread and ended.thread.name, ended.exc_value
        )
    for file in files or ():
        if not file.suffix and not file.exists():
            fail(f"{file}: there is no such file\n  -> without a file, a worker serves all registered collections")
    collections = load_collections(files or [])
    require_descriptors(LEAST + EACH_COLLECTION * len(collections))
    names = [collection.name for collection in collections.values()]
    served = ", ".join(names) or "all collections of the registry"
    log.info("release %s works on %s", __version__, served, extra={"collections": names})
    begin_tracing(settings, service="stream-ldp-worker")
    try:
        run(serve(settings, collections))
    except WorkerCrashed as error:
        cause = error.__cause__
        # A fault of the environment is no bug, whose traceback would help.
        expected = isinstance(cause, StreamLDPError | KafkaError | TimeoutError)
        log.critical("%s: %r", error, cause, exc_info=None if expected else cause)
        code = 1
    else:
        log.info("stopped")
        code = 0
    finally:
        end_tracing()
    logging.shutdown()
    # A solve that is under way would keep its thread, and so the process, alive; nobody needs its answer any more.
    os._exit(code)
