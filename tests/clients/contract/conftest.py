"""Each client runs in one process for all tests of a session."""

from collections.abc import Iterator

import pytest

from stream_ldp.client.process import ClientProcess
from tests.clients.contract.clients import CLIENTS, HOME


@pytest.fixture(scope="session", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[ClientProcess]:
    """Return a running client of each language."""
    row = CLIENTS[request.param]
    if (missing := row.missing()) is not None:
        pytest.skip(missing)
    with ClientProcess(row.command(), cwd=HOME) as running:
        yield running
