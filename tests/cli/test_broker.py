"""`stream-ldp broker`: it ends in good order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.ports import accepts


@pytest.mark.usefixtures("kafka")
def test_the_broker_command_stops_the_broker_cleanly_on_sigterm(tmp_path: Path) -> None:
    program = "import typer; from stream_ldp.cli.broker import broker; typer.run(broker)"
    port = EmbeddedKafka().port
    command = [sys.executable, "-u", "-c", program, "--port", str(port), "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f"listens on 127.0.0.1:{port}" in process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0
    assert not accepts(port)
    # Kafka leaves this behind when it was stopped in good order, and reads its whole log again when it was not.
    assert (tmp_path / "data" / "log" / ".kafka_cleanshutdown").exists()
