"""The file of a user's secret: load it, or create it.

A new secret is drawn into a draft, and kept by giving the draft the file's name. So it never has two names, and the
next start finds a secret that a killed one has drawn, and goes on with it: a ledger may be sealed with it by then.
"""

from pathlib import Path

from stream_ldp.errors import StreamLDPError
from stream_ldp.ledger.private_file import (
    NotPrivate,
    draft_of,
    keep_draft,
    read_private,
    sync_directory,
    write_draft,
)
from stream_ldp.ledger.store import LedgerError, locked
from stream_ldp.mechanisms import SECRET_BYTES, new_secret


class SecretError(StreamLDPError, ValueError):
    """A file cannot be used as a user's secret."""


def ledger_file_of(secret_file: str | Path) -> Path:
    """Return the path of the ledger that belongs to a secret file; it is beside it."""
    return Path(f"{secret_file}.ledger")


def load_or_create_secret(path: str | Path) -> bytes:
    """Load the secret in a file; create one, readable by its owner alone, if there is no file.

    Raises:
        SecretError: the file is not a secret, others may read or replace it, it is another account's, it cannot be
            read or written, or a symbolic link leads to nothing.
    """
    path = secret_file_of(path)
    if not path.exists():
        make_directory(path)
        try:
            # Of two processes, both then find the first one's.
            with locked(ledger_file_of(path)):
                if not path.exists():
                    if drawn_secret(path) is None:
                        draw_secret(path)
                    keep_secret(path)
        except LedgerError as error:
            raise SecretError(str(error)) from error
    return load_secret(path)


def secret_file_of(path: str | Path) -> Path:
    """Return the path of a secret's file itself, to which symbolic links may lead.

    Raises:
        SecretError: a link leads to nothing, such as to a volume that is not mounted: a secret made there would
            be that of another user.
    """
    path = Path(path)
    for each in (path, *path.parents):
        if each.is_symlink() and not each.exists():
            raise SecretError(f"{each}: a symbolic link to {each.readlink()}, which does not exist")
    return path.resolve()


def make_directory(path: Path) -> None:
    """Make the directory of a file, for its owner alone.

    Raises:
        SecretError: it cannot be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error


def load_secret(path: Path) -> bytes:
    """Load the secret in a file.

    Raises:
        SecretError: see `load_or_create_secret`.
    """
    try:
        content = read_private(path)
    except NotPrivate as error:
        raise SecretError(f"{path}: {error.why}, and a stranger could undo the noise\n  -> {error.cure}") from None
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error
    secret = _secret_in(content)
    if secret is None:
        raise SecretError(f"{path}: not a secret, which is {2 * SECRET_BYTES} hexadecimal digits")
    return secret


def drawn_secret(path: Path) -> bytes | None:
    """Return the secret that a start drew for a file and did not keep, because it was killed; None if there is none.

    The caller has the lock.
    """
    try:
        return _secret_in(read_private(draft_of(path)))
    except (NotPrivate, OSError):
        return None


def draw_secret(path: Path) -> bytes:
    """Draw a secret for a file, which has it once it is kept. The caller has the lock.

    Raises:
        SecretError: it cannot be written.
    """
    secret = new_secret()
    try:
        write_draft(path, secret.hex().encode() + b"\n")
        sync_directory(path.parent)
    except NotPrivate as error:
        raise SecretError(str(error)) from None
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error
    return secret


def keep_secret(path: Path) -> None:
    """Give a file the secret that was drawn for it. The caller has the lock.

    Raises:
        SecretError: it cannot be written.
    """
    try:
        keep_draft(path)
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from error


def _secret_in(content: bytes) -> bytes | None:
    try:
        secret = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        return None
    return secret if len(secret) == SECRET_BYTES else None
