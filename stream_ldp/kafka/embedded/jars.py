"""Keep Apache Kafka in the user's cache: its jars, by Maven, and its classes, checked, to start in half the time."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stream_ldp.kafka.embedded.broker import EmbeddedBrokerError, MissingTool
from stream_ldp.kafka.embedded.process import last_lines, run

log = logging.getLogger(__name__)

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.1"
DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

#: Seconds to fetch 46 jars, 44 MB; it takes 4 s to 15 s on a good line.
FETCH_TIMEOUT_SECONDS = 600.0

#: The artifact that is a broker.
BROKER = "kafka_2.13"

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>stream-ldp</groupId>
  <artifactId>embedded-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{log4j}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-core</artifactId>
      <version>{log4j}</version>
    </dependency>
  </dependencies>
</project>
"""


def fetch_jars(artifact: str = BROKER) -> Path:
    """Return the directory of the jars of a program of Kafka in the cache, and fetch them if they are not there.

    They are fetched beside their place and renamed into it, so that an interrupted fetch never looks like a finished
    one. If two processes fetch at once, the second uses the jars of the first.

    Raises:
        MissingTool: they are not there, and neither is Maven.
        EmbeddedBrokerError: Maven failed; the message holds its last lines.
    """
    cache = _cache_directory()
    jars = cache / f"{artifact.partition('_')[0]}-{KAFKA_VERSION}-log4j-{LOG4J_VERSION}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingTool(f"no mvn on PATH: Maven fetches Kafka's jars into {cache} the first time")
    log.info("Fetching Apache Kafka %s by Maven into %s", KAFKA_VERSION, jars)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=cache) as scratch:
        pom, fetched = Path(scratch, "pom.xml"), Path(scratch, "jars")
        pom.write_text(_POM.format(artifact=artifact, kafka=KAFKA_VERSION, log4j=LOG4J_VERSION))
        goal = (f"{DEPENDENCY_PLUGIN}:copy-dependencies", f"-DoutputDirectory={fetched}")
        # --strict-checksums: a jar that does not match its checksum is an error, by default only a warning.
        command = (maven, "--batch-mode", "--quiet", "--strict-checksums", "--file", str(pom), *goal)
        try:
            done = run(*command, timeout=FETCH_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as slow:
            raise EmbeddedBrokerError(f"Maven has not fetched Kafka within {FETCH_TIMEOUT_SECONDS:.0f} s") from slow
        if done.returncode != 0:
            raise EmbeddedBrokerError(f"Maven could not fetch Kafka:\n{last_lines(done.stdout)}")
        try:
            fetched.rename(jars)
        except OSError:
            if not jars.is_dir():
                raise
    return jars


def _cache_directory() -> Path:
    if override := os.environ.get("STREAM_LDP_KAFKA_HOME"):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stream-ldp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stream-ldp"


#: Java warns of each class that it cannot archive, and of an archive that it cannot use. It goes on without.
_QUIET = "-Xlog:cds=off"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassArchive:
    """The archive of a Java's class-data sharing for some jars. Without one, everything works, but starts later.

    file: where it is, or will be.
    """

    file: Path

    @classmethod
    def of(cls, java: str, jars: Path) -> ClassArchive:
        """Return the archive of a java for a directory of jars; it lies beside the directory.

        An archive serves only the very Java that made it, so an upgraded one makes its own.
        """
        program = Path(java).resolve()
        build = hashlib.sha256(f"{program} {program.stat().st_mtime_ns}".encode()).hexdigest()[:12]
        return cls(file=jars.with_name(f"{jars.name}-java-{build}.jsa"))

    def options(self) -> tuple[str, ...]:
        """Return the options of java for a program that uses the archive; none while there is no archive."""
        return (f"-XX:SharedArchiveFile={self.file}", _QUIET) if self.file.exists() else ()

    @contextmanager
    def made(self) -> Iterator[tuple[str, ...]]:
        """Yield the options of java for a short program that leaves its classes as the archive, if there is none yet.

        The archive is made beside its place and renamed into it, so that an interrupted program leaves none. In a
        cache that is read-only none is made.
        """
        if self.file.exists():
            yield self.options()
            return
        try:
            scratch = tempfile.TemporaryDirectory(prefix="archiving-", dir=self.file.parent)
        except OSError:
            yield ()
            return
        with scratch as directory:
            archive = Path(directory, "classes.jsa")
            yield (f"-XX:ArchiveClassesAtExit={archive}", _QUIET)
            if archive.exists():
                # Java crashes on half an archive, as one may be that was renamed just before a power failure.
                with archive.open("rb") as written:
                    os.fsync(written.fileno())
                archive.rename(self.file)
