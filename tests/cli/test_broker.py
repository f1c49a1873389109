"""`stream-ldp broker`: it ends in good order."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import stream_ldp.cli.broker as command
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.embedded.process import accepts


class Stopped(EmbeddedKafka):
    """A broker that SIGTERM reaches at once; that one stops cleanly is shown in tests/kafka/embedded/test_node.py."""

    def start(self) -> None:
        self.events = ["started"]

    def stop(self) -> None:
        self.events.append("stopped")

    def wait(self) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the broker would run on")


def test_the_broker_command_stops_its_broker_on_sigterm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = Stopped(data=tmp_path, port=9_999)
    monkeypatch.setattr(command, "EmbeddedKafka", lambda **_: made)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        command.broker(port=9_999, data=tmp_path)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert made.events == ["started", "stopped"]
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "Apache Kafka listens on 127.0.0.1:9999",
        "Apache Kafka has stopped.",
    ]


@pytest.mark.long
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
