"""The file of a user's secret: load it, or create it."""

from __future__ import annotations

from pathlib import Path

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import SECRET_BYTES, new_secret
from stream_ldp.privacy.ledger.private_file import OthersMayRead, create_private, read_private

__all__ = ["SecretError", "load_or_create_secret"]


class SecretError(StreamLDPError, ValueError):
    """A file cannot be used as a user's secret."""


def load_or_create_secret(path: str | Path) -> bytes:
    """Load the secret in a file; create one, readable by its owner alone, if there is no file.

    Raises:
        SecretError: the file is not a secret, others may read it, or it cannot be read or written.
    """
    path = Path(path).resolve()
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(path, new_secret().hex().encode() + b"\n")
        content = read_private(path)
    except OthersMayRead:
        raise SecretError(f"{path}: others may read it, and undo the noise with it\n  -> chmod 600 {path}") from None
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error
    try:
        secret = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise SecretError(f"{path}: not a secret, which is {2 * SECRET_BYTES} hexadecimal digits")
    return secret
