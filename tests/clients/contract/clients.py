"""The table of clients: a client in another language is a row here."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tests.clients import java
from tests.paths import REPOSITORY


def _nothing() -> None:
    return None


def _python() -> tuple[str, ...]:
    return sys.executable, "-m", "tests.clients.contract.python_client"


def _javascript() -> tuple[str, ...]:
    return "node", "clients/javascript/contract/program.js"


def _without_node() -> str | None:
    return None if shutil.which("node") else "Node, which runs the JavaScript client, is not installed"


def _java() -> tuple[str, ...]:
    java.compiled()
    return java.command("org.streamldp.client.ContractProgram")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A client that the suite runs.

    command: returns that of its program, which runs in the root of the repository; it may build the program before.
    missing: says why the program cannot run here; None if it can.
    """

    command: Callable[[], tuple[str, ...]]
    missing: Callable[[], str | None] = _nothing


CLIENTS = {
    "python": Row(command=_python),
    "javascript": Row(command=_javascript, missing=_without_node),
    "java": Row(command=_java, missing=java.missing),
}

#: Where the programs run.
HOME = REPOSITORY
