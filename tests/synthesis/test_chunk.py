"""The message of a records topic, held against vectors that were written from docs/wire.md alone."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.paths import GOLDEN

VECTORS: list[dict[str, Any]] = json.loads((GOLDEN / "records.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["about"])
def test_a_chunk_is_read_and_written_as_specified(vector: dict[str, Any]) -> None:
    chunk = SyntheticChunk.from_bytes(vector["value"].encode())
    assert chunk.key.decode() == vector["key"]
    assert chunk.to_bytes().decode() == vector["value"]
    assert chunk.columns() == vector["columns"]


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([[0]], "another number of values"),
        ([[0, 3]], "does not have"),
        ([[-1, 0]], "does not have"),
        ([[2**63, 0]], "does not have"),
    ],
)
def test_records_that_the_attributes_do_not_have_are_refused(records: list[list[int]], problem: str) -> None:
    message = json.loads(VECTORS[0]["value"]) | {"records": records}
    with pytest.raises(ValidationError, match=problem):
        SyntheticChunk.from_bytes(json.dumps(message).encode())
