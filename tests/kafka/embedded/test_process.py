"""The last output of a program is kept, on whichever stream it was written."""

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka, MissingTool
from stream_ldp.kafka.embedded.process import accepts, free_ports, last_lines, run


def test_output_and_errors_come_together_with_the_exit_code() -> None:
    done = run("sh", "-c", "echo one; echo two >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "one\ntwo\n")


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run("sleep", "60", timeout=0.1)


def test_the_last_lines_of_a_text_are_quoted_without_blank_ones_after_them() -> None:
    assert last_lines("1\n2\n3\n\n", count=2) == "2\n3"
    assert last_lines("1\n") == "1"


def test_free_ports_are_different_and_can_be_listened_on() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_accepts_while_somebody_listens_on_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert accepts(port)
    assert not accepts(port)


def test_without_java_the_message_says_which_java_is_needed(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    (tmp_path / "java").unlink()
    with pytest.raises(MissingTool, match="no java on PATH: the embedded Kafka needs a Java 17 runtime or later"):
        EmbeddedKafka().start()


@pytest.mark.parametrize(("printed", "found"), [("1.8.0_392", "8"), ("11.0.2", "11")])
def test_an_old_java_is_named_with_its_version(printed: str, found: str, script: Callable[[str, str], None]) -> None:
    script("java", f"""echo 'openjdk version "{printed}" 2018-10-16' >&2""")
    with pytest.raises(MissingTool, match=f"is Java {found}: the embedded Kafka needs 17 or later"):
        EmbeddedKafka().start()
