"""A real PostgreSQL for tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
#: Seconds that a server may take to start on a busy machine.
SOON_SECONDS = 60.0


class Server:
    """A PostgreSQL on a socket of its own, which the user postgres runs where a test is root: it refuses to be.

    port: on the loopback interface, for clients that know no sockets; None for no port.
    """

    def __init__(self, folder: Path, *, port: int | None = None) -> None:
        self.folder = folder
        self._port = port
        self.url = f"postgresql:///postgres?host={folder}&user=keeper" + ("" if port is None else f"&port={port}")
        self._as = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self._run("initdb", "-D", folder / "data", "-U", "keeper", "-A", "trust", "--no-sync", "-E", "UTF8")

    def start(self) -> None:
        listening = "listen_addresses=''" if self._port is None else f"listen_addresses=127.0.0.1 -p {self._port}"
        options = f"-k {self.folder} -c {listening} -c fsync=off"
        self._run("pg_ctl", "-D", self.folder / "data", "-o", options, "-l", self.folder / "log", "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def ask(self, statement: str) -> list[Any]:
        with psycopg.connect(self.url) as connection:
            return list(connection.execute(statement))

    def _run(self, program: str, *arguments: object) -> None:
        assert BIN is not None
        subprocess.run(
            [*self._as, str(BIN / program), *map(str, arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            timeout=SOON_SECONDS,
        )


@contextmanager
def running(*, port: int | None = None) -> Iterator[Server]:
    """Run one, or skip the test where there is none."""
    if BIN is None:
        pytest.skip("PostgreSQL keeps the rows: Debian's postgresql")
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        if os.getuid() == 0:
            shutil.chown(folder, pwd.getpwnam("postgres").pw_uid)
        made = Server(folder, port=port)
        made.start()
        try:
            yield made
        finally:
            made.stop()
