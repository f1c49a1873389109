"""Simulate machines that lack Java or Maven."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Simulate a machine whose java and mvn are what the test writes, with nothing fetched yet."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STREAM_LDP_KAFKA_HOME", str(tmp_path / "cache"))

    def write(name: str, body: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
        (tmp_path / name).chmod(0o755)

    write("java", """echo 'openjdk version "21.0.1" 2023-10-17' >&2""")
    return write
