"""Run librdkafka's mock cluster, for a first look on a machine without Java."""

import importlib.util
import multiprocessing
import signal
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection

from stream_ldp.kafka.embedded.broker import EmbeddedBroker, EmbeddedBrokerError, MissingTool
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec

#: Seconds for each request to the cluster while it starts: it takes milliseconds on two idle cores; the rest is for a
#: busy machine.
ANSWER_TIMEOUT_SECONDS = 60.0

MOCK_NOTICE = (
    "Java or Maven is missing here, so this runs on librdkafka's mock cluster instead of Apache Kafka. It speaks the "
    "protocol, but keeps everything in memory (about 5 MB a partition, then it forgets), does not compact, has "
    "no retention and no topic settings, and every topic has 4 partitions. It is good for a first look only."
)


class EmbeddedMock(EmbeddedBroker):
    """librdkafka's mock cluster of one broker in a child process, as a context manager; see MOCK_NOTICE.

    It needs confluent-kafka (`pip install 'stream-ldp[demo]'`). Create topics with `touch`.
    """

    has_transactions = False

    def __init__(self) -> None:
        if importlib.util.find_spec("confluent_kafka") is None:
            raise MissingTool("the mock broker needs confluent-kafka: pip install 'stream-ldp[demo]'")
        # A fresh interpreter: librdkafka's threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._pipe, self._far_end = context.Pipe()
        self._process = context.Process(target=_serve_mock, args=(self._far_end,), daemon=True)
        self._bootstrap: str | None = None

    @property
    def bootstrap(self) -> str:
        """Address for clients, host:port; known once started."""
        if self._bootstrap is None:
            raise EmbeddedBrokerError("the mock broker is not running: use it as a context manager")
        return self._bootstrap

    def start(self) -> None:
        """Start the child process and get its address."""
        self._process.start()
        # Only the child may hold its end, so that we read the end of the file when it dies.
        self._far_end.close()
        self._bootstrap = self._reply()

    async def create_topics(self, specs: Sequence[TopicSpec], *, settings: Settings) -> None:  # noqa: ARG002
        """Create topics, of 4 partitions each, whatever they should have."""
        self.touch(spec.name for spec in specs)

    def touch(self, topics: Iterable[str]) -> None:
        """Create topics, of 4 partitions each, by asking for them."""
        self._pipe.send(tuple(topics))
        self._reply()

    def stop(self) -> None:
        """End the child process."""
        self._pipe.close()
        self._process.join()
        self._bootstrap = None

    def _reply(self) -> str:
        try:
            return str(self._pipe.recv())
        except EOFError:
            raise EmbeddedBrokerError("the mock broker's process ended; its error is above") from None


def _serve_mock(pipe: Connection) -> None:
    """Run the cluster in the child until the other end of the pipe closes, as it does when the parent dies."""
    from confluent_kafka import Producer  # noqa: PLC0415  an optional extra, and only the child needs it

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipe
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "replaced", "log_level": 3})
    (broker,) = cluster.list_topics(timeout=ANSWER_TIMEOUT_SECONDS).brokers.values()
    pipe.send(f"{broker.host}:{broker.port}")
    while True:
        try:
            topics = pipe.recv()
        except EOFError:
            return
        for topic in topics:
            cluster.list_topics(topic, timeout=ANSWER_TIMEOUT_SECONDS)
        pipe.send("touched")
