"""Files that belong to one user: only they may read them, and what is written is on the disk.

On Windows, who may read a file follows from its directory, which has to be the user's own: files have no mode there.
"""

from __future__ import annotations

import os
import stat
import tempfile
from typing import TYPE_CHECKING

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["OthersMayRead", "create_private", "read_private", "replace_private"]


#: What keeps an open file from being a link's target, from reaching child processes, and from being read as text.
#: Each system has some of them.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_POSIX = os.name == "posix"


class OthersMayRead(StreamLDPError, RuntimeError):
    """A private file can be read or written by other users of the machine."""


def read_private(path: Path) -> bytes:
    """Read a file that is no symbolic link; use `Path.resolve` once, before the first call.

    Raises:
        OthersMayRead: others may read or write it.
        OSError: it cannot be read, or has become a symbolic link.
    """
    with open(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
        if _POSIX and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise OthersMayRead(f"{path}: others may read it")
        return file.read()


def create_private(path: Path, content: bytes) -> None:
    """Create a file, whole and on the disk, unless there is one: of two processes, both then find the first one's.

    Raises:
        OSError: it cannot be written.
    """
    # Written to a draft and then linked, so that nobody reads half of it.
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        _write(descriptor, content)
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        os.unlink(draft)
    _sync_directory(path.parent)


def replace_private(path: Path, content: bytes) -> None:
    """Replace a file, or create it; readers find all of the old content or all of the new.

    The caller locks out other writers.

    Raises:
        OSError: it cannot be written; the old content stays.
    """
    # Always the same name: what a crash leaves behind is removed. Where others may write to the directory, they could
    # put a symbolic link there, and the content would go to a file of their choice: `O_EXCL` never follows one.
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    _write(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), content)
    os.replace(draft, path)
    _sync_directory(path.parent)


def _write(descriptor: int, content: bytes) -> None:
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """Make a new name outlive a power failure."""
    if not _POSIX:
        return  # Windows opens no directories, and keeps their names in its journal.
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
