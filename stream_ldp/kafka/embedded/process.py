"""What brokers on this machine need of it: programs that are run to their end, Java, and ports."""

import os
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack

from stream_ldp.kafka.embedded.broker import MissingTool


def run(*command: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with its standard output and error together in `stdout`."""
    return subprocess.run(  # noqa: S603  no user input in the command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout
    )


def last_lines(text: str, count: int = 20) -> str:
    """Return the last lines of a text."""
    return "\n".join(text.rstrip().splitlines()[-count:])


def free_ports(count: int) -> list[int]:
    """Find ports of the loopback address on which no process listens."""
    with ExitStack() as sockets:
        held = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in held]


def accepts(port: int) -> bool:
    """Decide whether a process listens on a port of the loopback address."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


MINIMUM_JAVA = 17


def find_java() -> str:
    """Return the path of a java that is recent enough: that of JAVA_HOME if it is set, otherwise the one on PATH.

    Raises:
        MissingTool: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise MissingTool(f"no java on {where}: the embedded Kafka needs a Java {MINIMUM_JAVA} runtime or later")
    answer = run(java, "-version").stdout
    version = re.search(r'version "(?:1\.)?(\d+)', answer)
    if version is None:
        raise MissingTool(f"{java} -version does not print its version:\n{last_lines(answer)}")
    if int(version[1]) < MINIMUM_JAVA:
        raise MissingTool(f"{java} is Java {version[1]}: the embedded Kafka needs {MINIMUM_JAVA} or later")
    return java
