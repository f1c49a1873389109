"""The file of a user's secret."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream_ldp.ledger.secret import SecretError, load_or_create_secret
from stream_ldp.mechanisms import SECRET_BYTES


def test_a_new_secret_is_readable_by_its_owner_alone_and_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "secret"
    secret = load_or_create_secret(path)
    assert len(secret) == SECRET_BYTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_or_create_secret(path) == secret
    assert load_or_create_secret(tmp_path / "another") != secret
    assert sorted(each.name for each in path.parent.iterdir()) == [".secret.ledger.lock", "secret"]


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


def test_a_secret_of_another_account_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    load_or_create_secret(path)
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(SecretError, match=r"(?s)belongs to another account.*-> if its content is yours: chown"):
        load_or_create_secret(path)


def test_a_directory_in_which_anybody_may_replace_a_secret_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    tmp_path.chmod(0o777)
    for _ in range(2):
        with pytest.raises(SecretError, match=r"(?s)anybody may replace what is in its directory.*-> chmod o-w "):
            load_or_create_secret(path)
        tmp_path.chmod(0o1777)  # as that of /tmp
        load_or_create_secret(path)
        tmp_path.chmod(0o777)


@pytest.mark.parametrize("link", ["secret", "user"])
def test_no_secret_is_made_where_a_link_leads_to_nothing(tmp_path: Path, link: str) -> None:
    target = tmp_path / "unmounted"
    (tmp_path / link).symlink_to(target)
    path = tmp_path / link / "secret" if link == "user" else tmp_path / link
    with pytest.raises(SecretError, match=r"a symbolic link to .*unmounted, which does not exist"):
        load_or_create_secret(path)
    assert not target.exists()
