"""The store of a user's book: in memory, or in a file that is sealed with the secret and locked while it changes."""

import errno
import hashlib
import hmac
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from stream_ldp.errors import StreamLDPError
from stream_ldp.ledger.ledger import Book, Spending, book_of, json_of
from stream_ldp.ledger.private_file import NotPrivate, read_private, replace_private, write_private
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import SECRET_BYTES
from stream_ldp.mechanisms.randomness.user_secret import require_secret
from stream_ldp.quantity import quantity

#: Seconds between two looks at a ledger that another process has locked, for as long as an update takes: some 10 ms.
_LOOK_SECONDS = 0.005

# 16 bytes that separate this purpose of a key, which BLAKE2b derives from a user's secret, from others.
_SEAL_PERSON = b"stream-ldp seal1"


class LedgerError(StreamLDPError, ValueError):
    """A ledger is missing, damaged or not this user's, or cannot be written: nothing may be sent."""


class Store(Protocol):
    """A place that holds the book of one user.

    together: makes a block inside which updates of this and other stores of one place are written together; None
        where each is written alone.
    """

    @property
    def together(self) -> Callable[[], AbstractContextManager[None]] | None: ...

    def read(self) -> Book:
        """Return the book."""
        ...

    def update(self, change: Callable[[Book], Book]) -> None:
        """Replace the book by what `change` makes of it, one update at a time; nothing changes if it raises."""
        ...


class MemoryStore:
    """A store in memory, for the threads of one process."""

    together = None

    def __init__(self, terms: Terms) -> None:
        self._book = Book(terms=terms)
        self._lock = threading.Lock()

    def read(self) -> Book:
        return self._book

    def update(self, change: Callable[[Book], Book]) -> None:
        with self._lock:
            self._book = change(self._book)


class Sealed:
    """A book in JSON with its seal, a keyed digest of the JSON."""

    def __init__(self, place: str, *, secret: bytes, anew: str) -> None:
        """Prepare the seal.

        place: of the book, for error messages.
        anew: how a new book is made in place of a damaged one, in words.
        """
        self._place = place
        self._anew = anew
        self._seal_key = derived_key(secret, _SEAL_PERSON)

    def closed(self, book: Book) -> tuple[bytes, bytes]:
        """Return the JSON of a book, and its seal."""
        content = json_of(book)
        return content, self._seal(content)

    def opened(self, content: bytes, seal: bytes) -> Book:
        """Return the book.

        Raises:
            LedgerError: it is damaged, of another user, or of another release.
        """
        if not hmac.compare_digest(seal, self._seal(content)):
            raise LedgerError(
                f"{self._place}: damaged, or the ledger of another secret: what this user has spent is not known\n"
                f"  -> put back the newest good copy; without one, {self._anew}, which does not count what was spent "
                "before"
            )
        try:
            return book_of(content)
        except ValidationError as error:
            raise LedgerError(f"{self._place}: written by another release, which must be used to go on") from error

    def _seal(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._seal_key, digest_size=32).hexdigest().encode()


class FileStore(Sealed):
    """A file of two lines: the book in JSON, and its seal.

    A second file has the number of the newest update, so that an older copy of the first, put back by itself, is
    noticed. It is written after the first, and not forced to the disk: a power failure takes no more of it than that
    notice.
    """

    together = None

    def __init__(self, path: Path, *, secret: bytes) -> None:
        # Once: were a link resolved at every access, its update would replace the link by a second ledger.
        self.path = path.resolve()
        anew = f"move it away and make a new one: {_NEW_LEDGER}"
        super().__init__(str(self.path), secret=secret, anew=anew)

    def read(self) -> Book:
        """See `Store.read`.

        Raises:
            LedgerError: the file is missing, damaged, not of this user, an older copy, or others may read it.
        """
        newest = self._newest()  # before the book, which another process may update in between
        book = self._read()
        if book.updates < newest:
            raise LedgerError(
                f"{self.path}: an older copy, which lacks the last {quantity(newest - book.updates, 'update')}: what "
                "was spent since is not known\n"
                f"  -> put back the newest copy; if it is lost, and the user agrees to forget that: delete "
                f"{self._newest_path}"
            )
        return book

    def _read(self) -> Book:
        try:
            content, _, seal = read_private(self.path).partition(b"\n")
        except FileNotFoundError as error:
            raise LedgerError(
                f"{self.path}: the ledger is missing, and what its user has spent is not known\n"
                f"  -> put it back; for a user who has never reported, make a new one: {_NEW_LEDGER}"
            ) from error
        except NotPrivate as error:
            raise LedgerError(
                f"{self.path}: {error.why}, and it says when its user reported\n  -> {error.cure}"
            ) from None
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}") from error
        return self.opened(content, seal.strip())

    def create(self, terms: Terms) -> None:
        """Store a new book, in which nothing is spent.

        Raises:
            LedgerError: there is a file already, or it cannot be written.
        """
        if self.path.exists():
            raise LedgerError(f"{self.path}: there is a ledger already, which a new one would forget\n  -> open it")
        self.begin(terms)

    def is_unspent(self) -> bool:
        """Decide whether there is a book of this user in which nothing is spent, so that nothing was sent."""
        try:
            return self.read().spending == Spending()
        except LedgerError:
            return False

    def begin(self, terms: Terms) -> None:
        """Store a new book in place of none, or of one in which nothing is spent.

        Raises:
            LedgerError: it cannot be written.
        """
        self._write(Book(terms=terms))

    def update(self, change: Callable[[Book], Book]) -> None:
        """See `Store.update`.

        Raises:
            LedgerError: as `read`, or the file cannot be locked or written.
        """
        with locked(self.path):
            book = self.read()
            self._write(replace(change(book), updates=book.updates + 1))

    @property
    def _newest_path(self) -> Path:
        return self.path.with_name(f".{self.path.name}.newest")

    def _newest(self) -> int:
        """Return the number of the newest update; 0 where it is not known."""
        try:
            return int(self._newest_path.read_bytes())
        except (OSError, ValueError):
            return 0

    def _write(self, book: Book) -> None:
        content, seal = self.closed(book)
        try:
            replace_private(self.path, content + b"\n" + seal + b"\n")
            if book.updates:
                write_private(self._newest_path, b"%020d\n" % book.updates)
            else:  # of a ledger that was here before
                self._newest_path.unlink(missing_ok=True)
        except NotPrivate as error:
            raise LedgerError(str(error)) from None
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be written, so nothing was sent: {error.strerror}") from error


_NEW_LEDGER = "PrivacyLedger.create, or `stream-ldp report --new-ledger`"


def derived_key(secret: bytes, person: bytes) -> bytes:
    """Derive a key for one purpose. A digest made with the secret itself might be a permanent response."""
    require_secret(secret)
    return hashlib.blake2b(key=secret, person=person, digest_size=SECRET_BYTES).digest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a ledger for all other threads and processes, by a file beside it: the ledger itself is replaced.

    Raises:
        LedgerError: its directory is missing, or the lock cannot be made.
    """
    if not path.parent.is_dir():  # which the lock would make
        raise LedgerError(f"{path}: {os.strerror(errno.ENOENT)}")
    # Not imported above: it loads sqlite3, and a ledger in memory needs no lock.
    from filelock import FileLock  # noqa: PLC0415

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600, poll_interval=_LOOK_SECONDS)
    try:
        lock.acquire()
    except OSError as error:
        raise LedgerError(f"{path}: cannot be locked, so nothing was sent: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()
