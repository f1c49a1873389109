"""Tests that a token is the one that is in its file now."""

from pathlib import Path

import pytest

from stream_ldp.kafka.token_file import TokenFile


async def test_a_token_that_is_replaced_is_used_for_the_next_connection(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    provider = TokenFile(path)
    assert await provider.token() == "first"
    path.write_text("second")
    assert await provider.token() == "second"


async def test_a_token_that_cannot_be_read_is_an_error_of_its_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="token"):
        await TokenFile(tmp_path / "token").token()
