"""A real Kafka Connect for tests: a standalone worker with its sinks, from Maven Central."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded.jars import DEPENDENCY_PLUGIN, KAFKA_VERSION, LOG4J_VERSION, _cache_directory
from stream_ldp.kafka.embedded.process import find_java, free_ports

DEBEZIUM_VERSION = "3.1.2.Final"

_LOG4J = "org.apache.logging.log4j"
#: What Maven fetches, with all that each needs, by folder.
_FOLDERS = {
    "runtime": (
        ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
        (_LOG4J, "log4j-slf4j-impl", LOG4J_VERSION),
        (_LOG4J, "log4j-core", LOG4J_VERSION),
    ),
    "plugins/file": (("org.apache.kafka", "connect-file", KAFKA_VERSION),),
}
#: What it unpacks under `plugins`: the sink with its libraries, but for those that Kafka Connect has.
_PLUGIN = f"io.debezium:debezium-connector-jdbc:{DEBEZIUM_VERSION}:tar.gz:plugin"


def connect_jars() -> Path:
    """Return the folder of the jars in the cache, fetched once: some 100, 80 MB; skip the test without Maven."""
    jars = _cache_directory() / f"connect-{KAFKA_VERSION}-debezium-{DEBEZIUM_VERSION}"
    if jars.is_dir():
        return jars
    if (maven := shutil.which("mvn")) is None:
        pytest.skip("Maven fetches Kafka Connect")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=jars.parent) as scratch:
        pom, fetched = Path(scratch, "pom.xml"), Path(scratch, "jars")
        for folder, parts in _FOLDERS.items():
            pom.write_text(_pom(parts))
            _fetch(maven, "copy-dependencies", fetched / folder, "--file", str(pom))
        _fetch(maven, "unpack", fetched / "plugins", f"-Dartifact={_PLUGIN}")
        fetched.rename(jars)
    return jars


def _fetch(maven: str, goal: str, folder: Path, *options: str) -> None:
    command = [maven, "--batch-mode", "--quiet", *options, f"{DEPENDENCY_PLUGIN}:{goal}"]
    subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True, timeout=600)


def _pom(parts: Sequence[tuple[str, str, str]]) -> str:
    needed = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in parts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>stream-ldp</groupId><artifactId>connect</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{needed}</dependencies></project>"
    )


class Connect:
    """A standalone worker of Kafka Connect with one connector."""

    def __init__(self, folder: Path, *, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
        """Prepare with the properties of both, which are written into a folder."""
        (port,) = free_ports(1)
        here = {
            "listeners": f"http://127.0.0.1:{port}",
            "offset.storage.file.filename": str(folder / "offsets"),
            "plugin.path": str(connect_jars() / "plugins"),
        }
        self._log = folder / "connect.log"
        self._files = []
        for name, properties in (("worker", {**worker, **here}), ("connector", connector)):
            file = folder / f"{name}.properties"
            file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
            self._files.append(str(file))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN")
        command = (find_java(), *options, "-cp", f"{connect_jars() / 'runtime'}/*")
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                (*command, "org.apache.kafka.connect.cli.ConnectStandalone", *self._files),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def failure(self) -> str:
        """Return the end of its log if it has ended or a task of it failed; else nothing."""
        text = self._log.read_text(errors="replace")
        assert self._process is not None
        return text[-4_000:] if self._process.poll() is not None or "Task threw an uncaught" in text else ""
