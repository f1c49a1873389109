"""What the runs happen on: one broker behind a proxy, one on a small disk, three in a cluster."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.process import free_ports
from tests.chaos.proxy import ProxiedKafka, Proxy

#: Bytes of the small disk: the broker's index files take 20 MB of it for each partition, if they are written.
DISK_BYTES = 256 * 2**20

_FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


class StageMissing(Exception):
    """This machine lacks what a stage needs; the message says what."""


@dataclass(kw_only=True)
class Stage:
    """An installation that is shared by many runs.

    brokers: the nodes; all of them run between two runs.
    proxy: what the workers' connections go through, if there is one.
    disk: directory whose file system can be filled, if there is one.
    quick: whether the brokers let a group notice a death within 3 s, half of the default, so that runs are short.
    clock: file that says how far the workers' clocks are off, in seconds, if they can be.
    """

    brokers: list[EmbeddedKafka]
    proxy: Proxy | None = None
    workers_address: str | None = None
    disk: Path | None = None
    clock: Path | None = None
    quick: bool = True
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def address(self) -> str:
        """Addresses for the clients and for the one who checks, who are spared the faults of the network."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the workers."""
        quick = {"STREAM_LDP_SESSION_TIMEOUT_MS": "3000", "STREAM_LDP_HEARTBEAT_INTERVAL_MS": "750"}
        clock = {
            "LD_PRELOAD": str(_FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            # Seconds between two looks at the file; a look at every call would slow the workers down tenfold.
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Its cure for other releases of glibc lets no thread have the interpreter before another gives it up by
            # itself: a worker's first solve then takes minutes.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }
        # So few that windows are saved and restored in a run, which has hundreds of batches.
        saving = {"STREAM_LDP_SAVE_RECORDS": "20"}
        return saving | (quick if self.quick else {}) | (clock if self.clock is not None else {})

    def set_clock(self, seconds: int) -> None:
        """Let the workers' clocks be so far ahead."""
        assert self.clock is not None
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n")
        fresh.rename(self.clock)

    async def whole(self) -> None:
        """Bring back whatever a run has left broken."""
        if self.proxy is not None:
            self.proxy.heal()
        if self.clock is not None:
            self.set_clock(0)
        if self.disk is not None:
            (self.disk / "ballast").unlink(missing_ok=True)


#: Settings that make groups of workers notice a death within three seconds.
_QUICK = {"group.min.session.timeout.ms": "1000"}


class _Proxied(ProxiedKafka):
    def __init__(self, data: Path) -> None:
        super().__init__()
        self._data = data

    def properties(self) -> dict[str, str]:
        return super().properties() | _QUICK


class _OnSmallDisk(EmbeddedKafka):
    def properties(self) -> dict[str, str]:
        return super().properties() | _QUICK | {"log.index.size.max.bytes": "65536"}


class _Node(EmbeddedKafka):
    """One of three."""

    def __init__(self, number: int, controllers: list[int], data: Path) -> None:
        super().__init__(data=data)
        self._number = number
        self._controllers = controllers
        self._controller_port = controllers[number]

    def properties(self) -> dict[str, str]:
        voters = ",".join(f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(self._controllers))
        return (
            super().properties()
            | _QUICK
            | {
                "node.id": str(self._number + 1),
                "controller.quorum.voters": voters,
                "offsets.topic.replication.factor": "3",
                "transaction.state.log.replication.factor": "3",
                "transaction.state.log.min.isr": "2",
                "min.insync.replicas": "2",
            }
        )


@asynccontextmanager
async def _running(*brokers: EmbeddedKafka) -> AsyncIterator[None]:
    try:
        await asyncio.gather(*[asyncio.to_thread(broker.start) for broker in brokers])
        yield
    finally:
        # No mercy is needed: nobody reads this data again.
        await asyncio.gather(*[asyncio.to_thread(broker.kill) for broker in brokers])


@asynccontextmanager
async def one_broker() -> AsyncIterator[Stage]:
    """Run a broker that workers reach through a proxy."""
    with tempfile.TemporaryDirectory(prefix="stream-ldp-chaos-", ignore_cleanup_errors=True) as directory:
        broker = _Proxied(Path(directory))
        async with _running(broker), Proxy(broker.proxy_port, to=broker.inner_port) as proxy:
            yield Stage(brokers=[broker], proxy=proxy, workers_address=f"127.0.0.1:{broker.proxy_port}")


@asynccontextmanager
async def wrong_clock() -> AsyncIterator[Stage]:
    """Run a broker with workers whose clock can jump.

    Raises:
        StageMissing: there is no libfaketime.
    """
    if not _FAKETIME.exists():
        raise StageMissing("a clock that jumps needs libfaketime (Debian: apt install libfaketime)")
    async with one_broker() as stage:
        with tempfile.TemporaryDirectory(prefix="stream-ldp-clock-") as directory:
            stage.clock = Path(directory) / "clock"
            stage.set_clock(0)
            yield stage


@asynccontextmanager
async def small_disk() -> AsyncIterator[Stage]:
    """Run a broker whose log is on a small disk of its own.

    Raises:
        StageMissing: this user may not mount one.
    """
    directory = Path(tempfile.mkdtemp(prefix="stream-ldp-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
    try:
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
            raise StageMissing("a full disk needs a disk of its own, which only root may mount")
        try:
            broker = _OnSmallDisk(data=directory / "kafka")
            async with _running(broker):
                yield Stage(brokers=[broker], disk=directory)
        finally:
            subprocess.run(["umount", "--lazy", str(directory)], check=False)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@asynccontextmanager
async def three_brokers() -> AsyncIterator[Stage]:
    """Run three brokers; every record is on all of them, and written once two have it."""
    with tempfile.TemporaryDirectory(prefix="stream-ldp-chaos-", ignore_cleanup_errors=True) as directory:
        controllers = free_ports(3)
        brokers: list[EmbeddedKafka] = [_Node(n, controllers, Path(directory) / str(n)) for n in range(3)]
        async with _running(*brokers):
            yield Stage(brokers=brokers)


#: How each stage that a scene needs is set up.
STAGES: dict[str, Callable[[], AbstractAsyncContextManager[Stage]]] = {
    "broker": one_broker,
    "clock": wrong_clock,
    "disk": small_disk,
    "cluster": three_brokers,
}
