"""Private files are whole, on the disk, and nobody else's."""

import os
import stat
from pathlib import Path

import pytest

from stream_ldp.ledger.private_file import NotPrivate, read_private, replace_private


def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what is synced, in order."""
    steps: list[str] = []
    fsync = os.fsync

    def syncing(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", syncing)
    return steps


def test_a_new_file_is_on_the_disk_with_its_name_and_readable_by_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = synced(monkeypatch)
    path = tmp_path / "mine"
    replace_private(path, b"content")
    assert steps == ["file", "directory"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_private(path) == b"content"
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_what_a_crash_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".mine.draft").write_bytes(b"half a")
    replace_private(tmp_path / "mine", b"whole")
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_a_symbolic_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    replace_private(victim, b"untouched")
    link.symlink_to(victim)
    with pytest.raises(OSError, match=r"symbolic link"):
        read_private(link)
    (tmp_path / ".mine.draft").symlink_to(victim)
    replace_private(tmp_path / "mine", b"mine")
    assert read_private(victim) == b"untouched"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "mine"
    replace_private(path, b"content")
    path.chmod(mode)
    with pytest.raises(NotPrivate, match=r"mine"):
        read_private(path)
