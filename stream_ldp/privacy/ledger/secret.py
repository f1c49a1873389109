"""The file of a user's secret: load it, or create it."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import SECRET_BYTES, new_secret

__all__ = ["SecretError", "load_or_create_secret"]


class SecretError(StreamLDPError, ValueError):
    """A file cannot be used as a user's secret."""


def load_or_create_secret(path: str | Path) -> bytes:
    """Load the secret in a file; create one, readable by its owner alone, if there is no file.

    Raises:
        SecretError: the file is not a secret, others may read it, or it cannot be read or written.
    """
    path = Path(path)
    try:
        if not path.exists():
            _create(path)
        return _load(path)
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error


def _load(path: Path) -> bytes:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SecretError(f"{path}: others may read it, and undo the noise with it\n  -> chmod 600 {path}")
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii"))
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise SecretError(f"{path}: not a secret, which is {2 * SECRET_BYTES} hexadecimal digits")
    return secret


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written to a draft and then linked, so that nobody reads half a secret, and two processes that start at once
    # both use the first one's.
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(new_secret().hex() + "\n")
            file.flush()
            os.fsync(descriptor)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
