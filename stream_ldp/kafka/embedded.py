"""A broker for a laptop and for the tests: Apache Kafka as a child process, without Docker.

`EmbeddedKafka` is the real thing: one KRaft node from its Maven Central jars. `EmbeddedMock` is librdkafka's
mock cluster, for the demo on a machine without Java. Both end with the process that started them, however
that process ends. POSIX only.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import logging
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from stream_ldp.errors import StreamLDPError

__all__ = ["MOCK_NOTICE", "EmbeddedBrokerError", "EmbeddedKafka", "EmbeddedMock", "MissingTool"]

log = logging.getLogger(__name__)

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.1"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
MINIMUM_JAVA = 17

#: 46 jars, 44 MB: 4 s to 15 s on a good line.
FETCH_TIMEOUT_SECONDS = 600.0
#: A start takes 3 s to 5 s on two idle cores; the rest is for a machine that is busy.
START_TIMEOUT_SECONDS = 60.0
#: A clean stop takes about 1 s; after this the broker is killed, which its log recovers from.
STOP_TIMEOUT_SECONDS = 15.0

MOCK_NOTICE = (
    "No Java or Maven here, so this runs on librdkafka's mock cluster instead of Apache Kafka. It speaks the "
    "protocol, but keeps everything in memory (about 5 MB a partition, then it forgets), does not compact, has "
    "no retention and no topic settings, and every topic has 4 partitions. Good for a look, not for a promise."
)

_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>stream-ldp</groupId>
  <artifactId>embedded-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-core</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

# Runs the broker and reads the pipe that its owner holds open. A line means: stop in good order. The end of the
# file means that the owner is gone, killed perhaps, and the broker must not outlive it. The reader is ended with
# the broker, so that it never signals a process that has since been given the broker's id.
_GUARD = """\
exec 3<&0
"$@" 3<&- & broker=$!
{ if read -r _ <&3; then kill -TERM $broker; else kill -KILL $broker; fi; } & reader=$!
wait $broker; code=$?
kill $reader 2>/dev/null
exit $code
"""

# The cluster's id is a 16-byte UUID in URL-safe base64. It is the same for every embedded broker: it guards a
# data directory against another cluster's, and these never join one.
_CLUSTER_ID = base64.urlsafe_b64encode(b"stream-ldp-local").rstrip(b"=").decode()


class EmbeddedBrokerError(StreamLDPError, RuntimeError):
    """The embedded broker could not be fetched or started; the message holds its own last words."""


class MissingTool(EmbeddedBrokerError):
    """This machine lacks what the embedded broker runs on; the message says what, and what would help."""


class EmbeddedKafka:
    """One Apache Kafka node (KRaft) on free loopback ports, as a context manager.

        with EmbeddedKafka() as kafka:
            AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)

    The first start on a machine fetches the jars by Maven into the user's cache. `start`, `stop`, `kill` and
    `restart` block: from a coroutine whose loop must live on, call them through `asyncio.to_thread`.
    """

    def __init__(self, *, data: Path | None = None, port: int | None = None) -> None:
        """data: directory of the log, kept afterwards; a temporary one if None. port: a free one if None."""
        self._data = data
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.port, self._controller_port = _free_ports(2)
        if port is not None:
            self.port = port
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """Address for clients, host:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        """Where the broker keeps everything; known once started."""
        if self._data is not None:
            return self._data
        if self._scratch is None:
            raise EmbeddedBrokerError("the broker is not running, and its temporary directory is gone")
        return Path(self._scratch.name)

    @property
    def log_file(self) -> Path:
        """What the broker writes to its standard output: warnings and errors."""
        return self.data / "kafka.log"

    def properties(self) -> dict[str, str]:
        """The broker's server.properties. Override to run it with others."""
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            # A static voter, since a dynamic one (format --standalone) is stored with its port, and the ports
            # change when a data directory is used again.
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.data / "log"),
            # A misspelt topic must be an error and not a new topic.
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            # One node on a laptop: a group need not wait 3 s for members that start a little later.
            "group.initial.rebalance.delay.ms": "0",
            # After kill -9 the node may register again only when its old session has run out: 9 s by default.
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
        }

    def format_arguments(self) -> tuple[str, ...]:
        """Further arguments of kafka.tools.StorageTool format. Override to add users."""
        return ()

    def start(self) -> None:
        """Start and wait until a client gets the cluster's metadata.

        Raises MissingTool without Java 17 or, before the first fetch, Maven; EmbeddedBrokerError with the last
        lines of Maven or of the broker when either fails.
        """
        java, jars = _find_java(), _fetch_jars()
        if _accepts(self.port):
            raise EmbeddedBrokerError(f"port {self.port} is in use already, perhaps by another broker")
        if self._data is None and self._scratch is None:
            # A killed broker's last writes may race with the removal.
            self._scratch = tempfile.TemporaryDirectory(prefix="stream-ldp-kafka-", ignore_cleanup_errors=True)
        self.data.mkdir(parents=True, exist_ok=True)
        try:
            self._guard = self._spawn(java, jars)
            self._wait_until_ready(self._guard)
        except BaseException:
            self._end()
            raise

    def wait(self) -> int:
        """Block until the broker ends by itself; its exit code."""
        if self._guard is None:
            raise EmbeddedBrokerError("the broker is not running")
        return self._guard.wait()

    def last_words(self) -> str:
        """The end of its log."""
        return _last_lines(self.log_file.read_text(errors="replace"))

    def stop(self) -> None:
        """Shut down in good order, by force after STOP_TIMEOUT_SECONDS, and remove the data if temporary."""
        if self._guard is not None and self._guard.stdin is not None:
            try:
                self._guard.stdin.write(b"stop\n")
                self._guard.stdin.flush()
                self._guard.wait(STOP_TIMEOUT_SECONDS)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                log.warning("The embedded Kafka did not stop in good order: killing it")
        self._end()

    def kill(self) -> None:
        """End the broker at once, as kill -9 does, and keep its data."""
        if self._guard is None:
            return
        if self._guard.poll() is None:
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.communicate()
        self._guard = None
        # The kernel ends the JVM after its guard: until then the port is not free to start on again.
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        while _accepts(self.port) and time.monotonic() < deadline:
            time.sleep(0.02)

    def restart(self) -> None:
        """Kill if running, then start on the same ports and data."""
        self.kill()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _end(self) -> None:
        self.kill()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _spawn(self, java: str, jars: Path) -> subprocess.Popen[bytes]:
        classpath = ("-cp", f"{jars}/*")
        properties = self.data / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self.properties().items()))
        if not (self.data / "log" / "meta.properties").exists():
            self._format(java, classpath, properties)
        # C1 code and the serial collector: a third of the memory, and a start in half the time.
        options = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN")
        command = (java, *options, *classpath, "kafka.Kafka", str(properties))
        with self.log_file.open("ab") as output:
            return subprocess.Popen(  # noqa: S603  no user input in the command
                ("/bin/sh", "-c", _GUARD, "sh", *command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is for us: we stop the broker after its clients.
                start_new_session=True,
            )

    def _format(self, java: str, classpath: tuple[str, str], properties: Path) -> None:
        command = (java, "-XX:TieredStopAtLevel=1", *classpath, "kafka.tools.StorageTool", "format")
        arguments = ("-t", _CLUSTER_ID, "-c", str(properties), *self.format_arguments())
        done = _run(*command, *arguments)
        if done.returncode != 0:
            raise EmbeddedBrokerError(f"Kafka could not format {self.data}:\n{_last_lines(done.stdout)}")

    def _wait_until_ready(self, guard: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (_accepts(self.port) and _answers(self.bootstrap)):
            if guard.poll() is not None:
                happened = f"ended with code {guard.returncode} while it started"
            elif time.monotonic() > deadline:
                happened = f"did not answer on {self.bootstrap} within {START_TIMEOUT_SECONDS:.0f} s"
            else:
                time.sleep(0.05)
                continue
            raise EmbeddedBrokerError(f"Kafka {happened}. The end of its log:\n{self.last_words()}")


class EmbeddedMock:
    """librdkafka's mock cluster of one broker in a child process, as a context manager; see MOCK_NOTICE.

    Needs confluent-kafka (`pip install 'stream-ldp[demo]'`). Topics are made with `touch`.
    """

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
        """Start the child process and take its address."""
        self._process.start()
        # Only the child may hold its end, so that we read the end of the file when it dies.
        self._far_end.close()
        self._bootstrap = self._reply()

    def touch(self, topics: Iterable[str]) -> None:
        """Make topics, of 4 partitions each, by asking for them."""
        self._pipe.send(tuple(topics))
        self._reply()

    def stop(self) -> None:
        """End the child process."""
        self._pipe.close()
        self._process.join()
        self._bootstrap = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _reply(self) -> str:
        try:
            return str(self._pipe.recv())
        except EOFError:
            raise EmbeddedBrokerError("the mock broker's process ended; its error is above") from None


def _serve_mock(pipe: Connection) -> None:
    """Child: be the cluster until the other end of the pipe closes, as it does when the parent dies."""
    from confluent_kafka import Producer  # noqa: PLC0415  an optional extra, and only the child needs it

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipe
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "replaced", "log_level": 3})
    (broker,) = cluster.list_topics(timeout=START_TIMEOUT_SECONDS).brokers.values()
    pipe.send(f"{broker.host}:{broker.port}")
    while True:
        try:
            topics = pipe.recv()
        except EOFError:
            return
        for topic in topics:
            cluster.list_topics(topic, timeout=START_TIMEOUT_SECONDS)
        pipe.send("touched")


def _run(*command: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run to the end, standard output and error together in `stdout`."""
    return subprocess.run(  # noqa: S603  no user input in the command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout
    )


def _find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise MissingTool(f"no java on {where}: the embedded Kafka needs a Java {MINIMUM_JAVA} runtime or later")
    answer = _run(java, "-version").stdout
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    if version is None:
        raise MissingTool(f"{java} -version does not say which it is:\n{_last_lines(answer)}")
    if int(version[1]) < MINIMUM_JAVA:
        raise MissingTool(f"{java} is Java {version[1]}: the embedded Kafka needs {MINIMUM_JAVA} or later")
    return java


def _cache_directory() -> Path:
    if override := os.environ.get("STREAM_LDP_KAFKA_HOME"):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stream-ldp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stream-ldp"


def _fetch_jars() -> Path:
    """Kafka's jars in the cache, fetched if they are not there.

    They are fetched beside their place and renamed into it, so that an interrupted fetch never looks like a
    finished one, and of two processes that fetch at once the second takes the first one's.
    """
    cache = _cache_directory()
    jars = cache / f"kafka-{KAFKA_VERSION}-log4j-{LOG4J_VERSION}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingTool(f"no mvn on PATH: Maven fetches Kafka's jars into {cache} the first time")
    log.info("Fetching Apache Kafka %s by Maven into %s", KAFKA_VERSION, jars)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=cache) as scratch:
        pom, fetched = Path(scratch, "pom.xml"), Path(scratch, "jars")
        pom.write_text(_POM)
        goal = (f"{DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={fetched}")
        # --strict-checksums: a jar that does not match its checksum is an error, by default only a warning.
        command = (maven, "--batch-mode", "--quiet", "--strict-checksums", "--file", str(pom), *goal)
        try:
            done = _run(*command, timeout=FETCH_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as slow:
            raise EmbeddedBrokerError(f"Maven has not fetched Kafka within {FETCH_TIMEOUT_SECONDS:.0f} s") from slow
        if done.returncode != 0:
            raise EmbeddedBrokerError(f"Maven could not fetch Kafka:\n{_last_lines(done.stdout)}")
        try:
            fetched.rename(jars)
        except OSError:
            if not jars.is_dir():
                raise
    return jars


def _free_ports(count: int) -> list[int]:
    with ExitStack() as sockets:
        held = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in held]


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(bootstrap: str) -> bool:
    """True if a client gets metadata with a broker in it; an open port alone is too early."""

    async def ask() -> bool:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=2000)
        try:
            await admin.start()
            return bool((await admin.describe_cluster())["brokers"])
        except (KafkaError, TimeoutError):
            return False
        finally:
            await admin.close()

    # In a thread of its own, since the caller's may already be running a loop.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, ask()).result()


def _last_lines(text: str, count: int = 20) -> str:
    return "\n".join(text.rstrip().splitlines()[-count:])
