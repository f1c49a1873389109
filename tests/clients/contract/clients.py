"""The table of clients: a client in another language is a row here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from tests.paths import REPOSITORY


def _always() -> None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A client that the suite runs.

    command: of its program, which runs in the root of the repository.
    missing: says why the program cannot run here; None if it can. It may build the program.
    """

    command: tuple[str, ...]
    missing: Callable[[], str | None] = _always


CLIENTS = {
    "python": Row(command=(sys.executable, "-m", "tests.clients.contract.python_client")),
}

#: Where the programs run.
HOME = REPOSITORY
