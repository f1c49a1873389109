"""Files that belong to one user: only they may read them, and what is written is on the disk.

On Windows, who may read a file follows from its directory, which has to be the user's own: files have no mode there.
"""

import os
import stat
from pathlib import Path

from stream_ldp.errors import StreamLDPError

#: What keeps an open file from being a link's target, from reaching child processes, and from being read as text.
#: Each system has some of them.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_POSIX = os.name == "posix"


class NotPrivate(StreamLDPError, RuntimeError):
    """Other accounts of the machine can read, write or replace a private file.

    why: what is wrong with the file, in words.
    cure: what to do about it.
    """

    def __init__(self, path: Path, *, why: str, cure: str) -> None:
        super().__init__(f"{path}: {why}\n  -> {cure}")
        self.why = why
        self.cure = cure


def read_private(path: Path) -> bytes:
    """Read a file that is no symbolic link; use `Path.resolve` once, before the first call.

    Raises:
        NotPrivate: it is another account's, others may read or write it, or anybody may put another one in its place.
        OSError: it cannot be read, or has become a symbolic link.
    """
    with open(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
        _require_private(path, file.fileno())
        return file.read()


def require_private(path: Path) -> None:
    """Check a file that a library opens by its path.

    Raises:
        NotPrivate, OSError: see `read_private`.
    """
    file = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        _require_private(path, file)
    finally:
        os.close(file)


def create_private(path: Path) -> None:
    """Create an empty file, unless there is one.

    Raises:
        NotPrivate: anybody may put another file in its place.
        OSError: it cannot be created.
    """
    if _POSIX:
        _require_directory_of(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | _FLAGS, 0o600))
    sync_directory(path.parent)


def write_private(path: Path, content: bytes) -> None:
    """Write a private file in its place, or create it; as many bytes as it has, at once, and not forced to the disk.

    Raises:
        OSError: it cannot be written.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | _FLAGS, 0o600)
    try:
        os.write(file, content)
    finally:
        os.close(file)


def replace_private(path: Path, content: bytes) -> None:
    """Replace a file, or create it; readers find all of the old content or all of the new.

    The caller locks out other writers.

    Raises:
        NotPrivate: anybody may put another file in its place.
        OSError: it cannot be written; the old content stays.
    """
    write_draft(path, content)
    keep_draft(path)


def draft_of(path: Path) -> Path:
    """Return the file in which the next content of a private file is written."""
    # Always the same name: what a crash leaves behind is found, and removed.
    return path.with_name(f".{path.name}.draft")


def write_draft(path: Path, content: bytes) -> None:
    """Write the next content of a file, which the file does not have yet.

    Raises:
        NotPrivate, OSError: see `replace_private`.
    """
    if _POSIX:
        _require_directory_of(path)
    # Where others may write to the directory, they could put a symbolic link there, and the content would go to a
    # file of their choice: `O_EXCL` never follows one.
    draft = draft_of(path)
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def keep_draft(path: Path) -> None:
    """Give a file the content that was written last.

    Raises:
        OSError: it cannot be done; the old content stays.
    """
    os.replace(draft_of(path), path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make new names outlive a power failure.

    Raises:
        OSError: it cannot be done.
    """
    if not _POSIX:
        return  # Windows opens no directories, and keeps their names in its journal.
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _require_private(path: Path, file: int) -> None:
    """Check an open file."""
    if not _POSIX:
        return
    status = os.fstat(file)
    # Where anybody may make files, somebody could have made this one, and know what it holds.
    if status.st_uid != os.geteuid():
        raise NotPrivate(
            path,
            why="it belongs to another account",
            cure=f"if its content is yours: chown {os.geteuid()} {path}; otherwise choose another file",
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise NotPrivate(path, why="others may read it", cure=f"chmod 600 {path}")
    _require_directory_of(path)


def _require_directory_of(path: Path) -> None:
    """Require that not everybody may replace a file, as they may not where its directory has the sticky bit."""
    mode = os.stat(path.parent).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise NotPrivate(path, why="anybody may replace what is in its directory", cure=f"chmod o-w {path.parent}")
