"""Collections, users and records of the golden vectors, and how a client is given them."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest

from stream_ldp.audit.wire.client import SpecifiedClient
from stream_ldp.client.process import ClientProcess
from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of, parse_collection
from tests.paths import REPOSITORY

GOLDEN = REPOSITORY / "tests" / "golden"

#: Files of vectors by what they are of: a client that does not speak it is not asked.
OF_RECORDS = ("record_reports", "sampled", "views", "strings", "places", "pairs")

TIME_MS = 1_760_000_000_000

#: What a user agrees to who lets everything be reported.
EVERYTHING: dict[str, Any] = {"budget": None, "linked": True}


@cache
def vectors(name: str) -> list[dict[str, Any]]:
    """Read a file of vectors."""
    found: list[dict[str, Any]] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def opened(client: ClientProcess, file: Mapping[str, Any], *, name: str = "") -> Collection:
    """Give a client a collection, or skip the test if the client does not speak it.

    name: of the file of vectors.
    """
    text = json.dumps(file, ensure_ascii=False)
    collection = parse_collection(text)
    asked = "views" if name == "views" else collection.document["mechanism"]["kind"]
    if asked not in client.hello.mechanisms:
        pytest.skip(f"the client in {client.hello.language} does not speak {asked}")
    made = client.collection(text, document=collection.document, meaning=collection.meaning)
    assert made == collection.fingerprint
    return collection


def specified(collection: Collection, file: Mapping[str, Any]) -> SpecifiedClient:
    """Return what the specification says of a collection, by code that shares none with the package."""
    return cast("SpecifiedClient", kind_of(collection).specified(file, collection.meaning))


def rows_of(value: bytes) -> list[bytes]:
    """Return the rows of a batch."""
    width = int.from_bytes(value[10:12], "little")
    return [value[start : start + width] for start in range(56, len(value), width)]
