"""The audit of the clients of any collection."""

from __future__ import annotations

from pathlib import Path

from stream_ldp.client.audit.audits import audit_clients
from tests.client.examples import collection_of
from tests.client.items import films


async def test_clients_of_records_and_of_sets_break_no_promise(tmp_path: Path) -> None:
    for name, collection in (("records", collection_of()), ("sets", films())):
        (directory := tmp_path / name).mkdir()
        assert [each for each in await audit_clients(collection, directory) if each.problem is not None] == []
