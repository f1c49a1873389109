"""Run one Apache Kafka node as a child process, which ends with its parent."""

import asyncio
import base64
import logging
import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from stream_ldp.kafka.embedded.broker import EmbeddedBroker, EmbeddedBrokerError
from stream_ldp.kafka.embedded.jars import ClassArchive, fetch_jars
from stream_ldp.kafka.embedded.process import accepts, find_java, free_ports, last_lines, run

log = logging.getLogger(__name__)

#: Seconds for a start: it takes 2 s to 4 s on two idle cores; the rest is for a busy machine.
START_TIMEOUT_SECONDS = 60.0
#: Seconds for a clean stop, which takes about 1 s; after this the broker is killed, from which its log recovers.
STOP_TIMEOUT_SECONDS = 15.0

# This script runs the broker and reads the pipe that its owner holds open. A line means: stop cleanly. The end of the
# file means that the owner is gone, killed perhaps, and the broker must not outlive it. The reader is ended with
# the broker, so that it never signals a process that has since got the broker's id.
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


class EmbeddedKafka(EmbeddedBroker):
    """An Apache Kafka node (KRaft) on free loopback ports, as a context manager.

        with EmbeddedKafka() as kafka:
            AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)

    The first start on a machine fetches the jars by Maven into the user's cache. `start`, `stop`, `kill` and
    `restart` block: from a coroutine whose loop must live on, call them through `asyncio.to_thread`.
    """

    def __init__(self, *, data: Path | None = None, port: int | None = None) -> None:
        """Choose the ports.

        data: directory of the log, kept afterwards; a temporary one if None.
        port: port for clients; a free one if None.
        """
        self._data = data
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self.port, self._controller_port = free_ports(2)
        if port is not None:
            self.port = port
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """Address for clients, host:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        """Directory in which the broker keeps everything; known once started."""
        if self._data is not None:
            return self._data
        if self._scratch is None:
            raise EmbeddedBrokerError("the broker is not running, and its temporary directory is gone")
        return Path(self._scratch.name)

    @property
    def log_file(self) -> Path:
        """File of the broker's standard output: warnings and errors."""
        return self.data / "kafka.log"

    def properties(self) -> dict[str, str]:
        """Return the broker's server.properties. Override it to run the broker with others."""
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            # The voter is static, since a dynamic one (format --standalone) is stored with its port, and the ports
            # change when a data directory is used again.
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.data / "log"),
            # A misspelt topic must be an error, not a new topic.
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            # On a laptop, a group need not wait 3 s for members that start a little later.
            "group.initial.rebalance.delay.ms": "0",
            # After kill -9 the node may register again only when its old session has run out: 9 s by default.
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
        }

    def format_arguments(self) -> tuple[str, ...]:
        """Return further arguments of kafka.tools.StorageTool format. Override it to add users."""
        return ()

    def start(self) -> None:
        """Start and wait until a client gets the cluster's metadata.

        Raises:
            MissingTool: there is no Java 17 or, before the first fetch, no Maven.
            EmbeddedBrokerError: Maven or the broker failed; the message holds its last lines.
        """
        java, jars = find_java(), fetch_jars()
        if accepts(self.port):
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
        """Block until the broker ends by itself, and return its exit code."""
        if self._guard is None:
            raise EmbeddedBrokerError("the broker is not running")
        return self._guard.wait()

    def log_end(self) -> str:
        """Return the last lines of the broker's log."""
        return last_lines(self.log_file.read_text(errors="replace"))

    def stop(self) -> None:
        """Shut down, see `shut_down`, and remove the data if it is temporary."""
        self.shut_down()
        self._end()

    def shut_down(self) -> None:
        """End the broker cleanly, or by force after STOP_TIMEOUT_SECONDS, and keep its data."""
        if self._guard is not None and self._guard.stdin is not None:
            try:
                self._guard.stdin.write(b"stop\n")
                self._guard.stdin.flush()
                self._guard.wait(STOP_TIMEOUT_SECONDS)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                log.warning("The embedded Kafka did not stop cleanly: killing it")
        self.kill()

    def kill(self) -> None:
        """End the broker at once, like kill -9, and keep its data."""
        if self._guard is None:
            return
        if self._guard.poll() is None:
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.communicate()
        self._guard = None
        # The kernel ends the JVM after its guard: until then the port is not free to start on again.
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        while accepts(self.port) and time.monotonic() < deadline:
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the broker's process, such as SIGSTOP, which freezes it with its connections open."""
        if self._guard is None:
            raise EmbeddedBrokerError("the broker is not running")
        os.killpg(self._guard.pid, number)

    def restart(self) -> None:
        """Kill the broker if it is running, then start it on the same ports and data."""
        self.kill()
        self.start()

    def _end(self) -> None:
        self.kill()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _spawn(self, java: str, jars: Path) -> subprocess.Popen[bytes]:
        classpath, classes = ("-cp", f"{jars}/*"), ClassArchive.of(java, jars)
        properties = self.data / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self.properties().items()))
        if not (self.data / "log" / "meta.properties").exists():
            self._format(java, classpath, classes, properties)
        # C1 code and the serial collector: a third of the memory, and a start in half the time.
        options = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN")
        command = (java, *options, *classes.options(), *classpath, "kafka.Kafka", str(properties))
        with self.log_file.open("ab") as output:
            return subprocess.Popen(  # noqa: S603  no user input in the command
                ("/bin/sh", "-c", _GUARD, "sh", *command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal must not reach the broker: its owner stops it after its clients.
                start_new_session=True,
            )

    def _format(self, java: str, classpath: tuple[str, str], classes: ClassArchive, properties: Path) -> None:
        arguments = ("-t", _CLUSTER_ID, "-c", str(properties), *self.format_arguments())
        # Its classes are most of the broker's, and it ends at once: so the broker itself need not archive its own.
        with classes.made() as options:
            command = (java, "-XX:TieredStopAtLevel=1", *options, *classpath, "kafka.tools.StorageTool", "format")
            done = run(*command, *arguments)
        if done.returncode != 0:
            raise EmbeddedBrokerError(f"Kafka could not format {self.data}:\n{last_lines(done.stdout)}")

    def _wait_until_ready(self, guard: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (accepts(self.port) and _answers(self.bootstrap)):
            if guard.poll() is not None:
                happened = f"ended with code {guard.returncode} while it started"
            elif time.monotonic() > deadline:
                happened = f"did not answer on {self.bootstrap} within {START_TIMEOUT_SECONDS:.0f} s"
            else:
                time.sleep(0.05)
                continue
            raise EmbeddedBrokerError(f"Kafka {happened}. The end of its log:\n{self.log_end()}")


def _answers(bootstrap: str) -> bool:
    """Decide whether a client gets metadata with a broker in it; an open port alone is too early."""

    async def ask() -> bool:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=2000)
        try:
            await admin.start()
            return bool((await admin.describe_cluster())["brokers"])
        except (KafkaError, TimeoutError):
            return False
        finally:
            await admin.close()

    # In a thread of its own, since the caller's thread may already run a loop.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, ask()).result()
