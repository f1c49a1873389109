"""The file of a user's secret."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream_ldp.client import SecretError, load_or_create_secret
from stream_ldp.mechanisms import SECRET_BYTES


def test_a_new_secret_is_readable_by_its_owner_alone_and_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "secret"
    secret = load_or_create_secret(path)
    assert len(secret) == SECRET_BYTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_or_create_secret(path) == secret
    assert load_or_create_secret(tmp_path / "another") != secret
    assert sorted(each.name for each in path.parent.iterdir()) == ["secret"]


def test_clients_that_create_a_secret_at_the_same_time_get_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for attempt in range(20):
            secrets = set(pool.map(load_or_create_secret, [tmp_path / str(attempt)] * 8))
            assert len(secrets) == 1


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    load_or_create_secret(path)
    path.chmod(0o640)
    with pytest.raises(SecretError, match=r"chmod 600"):
        load_or_create_secret(path)


@pytest.mark.parametrize("content", ["", "00" * 31, "zz" * 32, "\u00e9" * 64])
def test_a_file_that_is_not_a_secret_is_neither_used_nor_overwritten_nor_shown(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(SecretError, match=r"not a secret") as refusal:
        load_or_create_secret(path)
    assert path.read_text(encoding="utf-8") == content
    assert not content or content not in str(refusal.value)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(SecretError, match=r"file/secret"):
        load_or_create_secret(blocked / "secret")
