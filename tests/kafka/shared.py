"""One Kafka for all processes of a run: the first that asks has it started, and it ends after them all."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Client, Listener
from pathlib import Path
from threading import Thread

from stream_ldp.kafka.embedded import EmbeddedBrokerError
from tests.kafka.secured import SecuredKafka, certify


@contextmanager
def kafka_on_request() -> Iterator[str]:
    """Yield the address, for `shared_kafka`, of a thread that starts a broker once it is asked for it.

    It is not in a process that tests, since one that crashed or ended early would end the Kafka of the others.
    """
    with Listener(family="AF_UNIX") as listener:
        thread = Thread(target=_serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield str(listener.address)
        finally:
            with Client(listener.address) as ending:
                ending.send(False)
            thread.join()


@contextmanager
def own_kafka() -> Iterator[SecuredKafka]:
    """Start a broker with certificates of its own.

    Raises:
        EmbeddedBrokerError: it could not be started.
    """
    with (
        tempfile.TemporaryDirectory(prefix="certificates-") as directory,
        SecuredKafka(certify(Path(directory))) as broker,
    ):
        yield broker


def _serve(listener: Listener) -> None:
    found: tuple[Path, Path, tuple[int, ...]] | Exception | None = None
    with ExitStack() as running:
        while True:
            with listener.accept() as asking:
                try:
                    if not asking.recv():
                        return
                except EOFError:  # its process has been killed
                    continue
                if found is None:
                    try:
                        broker = running.enter_context(own_kafka())
                        found = broker.certificates, broker.data, broker.ports
                    except (EmbeddedBrokerError, OSError) as failed:
                        found = failed
                with suppress(BrokenPipeError):
                    asking.send(found)


def shared_kafka(address: str) -> SecuredKafka:
    """Return the broker that runs at the address's process, which is not ours to end or to restart.

    Raises:
        EmbeddedBrokerError: it could not be started.
    """
    with Client(address) as asking:
        asking.send(True)
        found = asking.recv()
    if isinstance(found, Exception):
        raise found
    certificates, data, ports = found
    return SecuredKafka(certificates, data=data, ports=ports)
