"""`stream-ldp broker`: an Apache Kafka for a laptop, until Ctrl-C."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stream_ldp.cli.failure import fail
from stream_ldp.kafka.embedded import EmbeddedKafka

__all__ = ["broker"]


def broker(
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port for clients, on 127.0.0.1.")] = 9092,
    data: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Directory to keep the topics in; a temporary one if not given."),
    ] = None,
) -> None:
    """Start it, and stop it in good order.

    Needs Java 17 or later, and Maven the first time, to fetch Kafka (44 MB). Not for production: one node, without
    encryption or passwords, that listens on 127.0.0.1 only.
    """
    # SIGTERM is to stop the broker in good order, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(highlight=False, soft_wrap=True)
    try:
        with console.status("Starting Apache Kafka ...") as status, EmbeddedKafka(data=data, port=port) as kafka:
            status.stop()
            console.print(
                f"Apache Kafka listens on {kafka.bootstrap}, its topics are in {kafka.data}; Ctrl-C ends it."
            )
            code = kafka.wait()
            fail(f"Kafka ended by itself, with code {code}. The end of its log:\n{kafka.log_end()}")
    except KeyboardInterrupt:
        console.print("Stopped.")
