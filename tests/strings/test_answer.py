"""The message of a ranking of strings, as it is written and read."""

from __future__ import annotations

import pytest

from stream_ldp.strings.answer import StringRanking
from tests.strings.examples import collection_of, ranking_of


def test_a_ranking_is_read_as_it_was_written() -> None:
    ranking = ranking_of(collection_of(), 2_000)
    assert StringRanking.from_bytes(ranking.to_bytes()) == ranking
    assert ranking.key == b"strings|final|20000"
    assert ranking_of(collection_of(), 100, final=False).key == b"strings|live"
    with pytest.raises(ValueError, match="schema_version"):
        StringRanking.from_bytes(ranking.to_bytes().replace(b'"schema_version":1', b'"schema_version":2'))
