"""Keep Kafka's classes in the user's cache, loaded and checked, so that brokers start in half the time."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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
