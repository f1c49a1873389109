"""This command runs an Apache Kafka node on a laptop, until Ctrl-C."""

import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from stream_ldp.cli.failure import fail
from stream_ldp.kafka.embedded import EmbeddedKafka


def broker(
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port for clients, on 127.0.0.1.")] = 9092,
    data: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Directory that keeps the topics; a temporary one if not given."),
    ] = None,
) -> None:
    """Start the node, and stop it cleanly.

    This needs Java 17 or later, and Maven the first time, to fetch Kafka (44 MB). It is not for production: it is one
    node, without encryption or passwords, that listens on 127.0.0.1 only.
    """
    # SIGTERM has to stop the broker cleanly, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(highlight=False, soft_wrap=True)
    try:
        with console.status("Starting Apache Kafka ...") as status, EmbeddedKafka(data=data, port=port) as kafka:
            status.stop()
            console.print(
                f"Apache Kafka listens on {kafka.bootstrap}, its topics are in {kafka.data}; Ctrl-C stops it."
            )
            code = kafka.wait()
            fail(f"Kafka ended by itself, with code {code}. The end of its log:\n{kafka.log_end()}")
    except KeyboardInterrupt:
        console.print("Apache Kafka has stopped.")
