"""The secrets and ledgers of many users in one SQLite file, for a backend that reports for them."""

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from stream_ldp.ledger.ledger import Book
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.private_file import NotPrivate, create_private, require_private
from stream_ldp.ledger.store import LedgerError, Sealed
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import new_secret

#: Seconds to wait for another process that writes: as long as a client waits for a broker by default.
_BUSY_SECONDS = 30

#: Names of one query, below the 32,766 variables that SQLite takes.
_NAMES = 10_000

#: Books that are kept as they were read or written last, 5 kB each of two attributes, and 21 kB of sixteen: to
#: check and to parse one takes a fifth of the time of a charge. `report_many` charges a thousand users at once.
_KEPT_BOOKS = 4_096

# Each commit is on the disk when it returns. `synchronous = FULL` is what makes it so in the mode WAL.
_SET_UP = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, secret BLOB NOT NULL, book BLOB NOT NULL, "
    "seal BLOB NOT NULL) WITHOUT ROWID, STRICT",
)


class UserDatabase:
    """A database of users, each with a secret and a privacy ledger.

        users = UserDatabase("/var/lib/care/users.sqlite")
        ...
        secrets, ledgers = users.load_or_create(["ada", "bob"], terms=Terms(budget=2.0))
        await reporter.report_many(records, secrets=secrets, ledgers=ledgers)

    `report_many` charges all its users in one transaction, where ledgers in files take two writes to the disk each.
    It is as durable: the charges are on the disk before a report leaves. The file holds the names and the secrets of
    the users, so only its owner may read it. Several threads and processes may use it.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file, or create it.

        Raises:
            LedgerError: it is no such database, others may read it, its directory is missing, or it cannot be opened.
        """
        self._path = Path(path).resolve()
        self._failing = _Failing(self._path)
        # By the key of its seal: its content and its seal, to the byte, and what they say.
        self._kept: OrderedDict[bytes, tuple[bytes, bytes, Book]] = OrderedDict()
        self._lock = threading.RLock()
        self._grouped = False
        try:
            if self._path.is_dir():
                raise LedgerError(f"{self._path}: it is a directory\n  -> give the path of a file in it")
            if not self._path.exists():
                create_private(self._path)
            require_private(self._path)
        except NotPrivate as error:
            raise LedgerError(str(error)) from None
        except OSError as error:
            raise LedgerError(f"{self._path}: {error.strerror}") from error
        self._database = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        with self._failing:
            for statement in _SET_UP:
                self._database.execute(statement)
        # Beside the file, SQLite's log of what is yet to be written there; not every file system has one.
        files = self._path, self._path.with_name(f"{self._path.name}-wal")
        self._opened = {file: file.stat() for file in files if file.exists()}

    def load_or_create(
        self, names: Sequence[str], *, terms: Terms | None = None, change_terms: bool = False
    ) -> tuple[list[bytes], list[PrivacyLedger]]:
        """Return the secret and the ledger of each user; make those who are not there.

        names: of different users, in any order, such as account numbers.
        terms: those to which the users agree. New users need them; for others see `PrivacyLedger.open`.
        change_terms: see `PrivacyLedger.open`.

        Raises:
            ValueError: a name is given twice, or is empty or no text of Unicode.
            TypeError: the names are one text, or one of them is no text.
            LooserTerms: the terms are looser than those in a ledger, and `change_terms` is not set; no user is made
                or changed. Ask for users with other terms by themselves, without `terms`.
            LedgerError: a ledger is damaged, there is a new user without terms, or the file cannot be written.
        """
        if isinstance(names, str | bytes):
            raise TypeError("one text is given for the names: give a list of them")
        names = list(names)
        for place, name in enumerate(names):
            if not isinstance(name, str):
                raise TypeError(f"name {place} is no text: write numbers as text")
            if not name or name != name.encode(errors="replace").decode():
                raise ValueError(f"name {place} is empty, or no text of Unicode: give another one")
        if len(set(names)) < len(names):
            raise ValueError("a user is named twice: give each name once")
        with self.group():
            known = self._read(names)
            if new := [name for name in names if name not in known]:
                known |= self._create(new, terms)
            ledgers = []
            for place, name in enumerate(names):
                secret, content, seal = known[name]
                store = DatabaseStore(self, name, secret=secret)
                try:
                    ledger = PrivacyLedger(store, secret=secret, terms=store.opened(content, seal).terms)
                    if terms is not None and terms != ledger.terms:
                        ledger.agree(terms, change_terms=change_terms)
                except LedgerError as error:  # By its place, as elsewhere: a name may be an address.
                    error.args = (f"user {place}: {error}",)
                    raise
                ledgers.append(ledger)
        return [known[name][0] for name in names], ledgers

    def close(self) -> None:
        """Close the file; ledgers of its users can be used no more."""
        self._database.close()

    @contextmanager
    def group(self) -> Iterator[None]:
        """Write all that is changed inside the block in one transaction, or nothing of it.

        Raises:
            LedgerError: it cannot be written.
        """
        with self._lock:
            if self._grouped:
                yield
                return
            with self._failing:
                self._database.execute("BEGIN IMMEDIATE")
            self._grouped = True
            try:
                yield
                self._require_in_place()
                with self._failing:
                    self._database.execute("COMMIT")
            finally:
                self._grouped = False
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def _require_in_place(self) -> None:
        """Require that the paths still name the files which are open.

        SQLite goes on writing to files that were deleted or replaced, and the next start would not find what was
        spent.

        Raises:
            LedgerError: it does not.
        """
        try:
            in_place = all(os.path.samestat(file.stat(), opened) for file, opened in self._opened.items())
        except OSError:
            in_place = False
        if not in_place:
            raise LedgerError(
                f"{self._path}, or its -wal file: deleted or replaced while it was open, so nothing was sent\n"
                "  -> put it back, and start again: what was charged last is in the open files alone"
            )

    def load(self, name: str) -> tuple[bytes, bytes]:
        """Return the content and the seal of a user's book.

        Raises:
            LedgerError: there is none.
        """
        with self._lock, self._failing:
            found = self._database.execute("SELECT book, seal FROM users WHERE name = ?", (name,)).fetchone()
        if found is None:
            raise LedgerError(f"{self._path}: a user's ledger is missing, and what the user has spent is not known")
        content, seal = found
        return content, seal

    def store(self, name: str, content: bytes, seal: bytes) -> None:
        """Replace the content and the seal of a user's book, inside a `group`.

        Raises:
            LedgerError: it cannot be written.
        """
        # A full disk ends the transaction. What follows would be written by itself, for a report that is not sent.
        if not self._database.in_transaction:
            raise LedgerError(f"{self._path}: cannot be used, so nothing was sent: the transaction has ended")
        with self._failing:
            self._database.execute("UPDATE users SET book = ?, seal = ? WHERE name = ?", (content, seal, name))

    def kept(self, key: bytes, content: bytes, seal: bytes) -> Book | None:
        """Return the book with this content and this seal, if it was the last to be kept under the key; else None."""
        found = self._kept.get(key)
        return found[2] if found is not None and found[:2] == (content, seal) else None

    def keep(self, key: bytes, content: bytes, seal: bytes, book: Book) -> None:
        """Keep a book that was read or is about to be written, and forget the one that was kept first of many."""
        self._kept[key] = (content, seal, book)
        if len(self._kept) > _KEPT_BOOKS:
            self._kept.popitem(last=False)

    def _read(self, names: Sequence[str]) -> dict[str, tuple[bytes, bytes, bytes]]:
        found = {}
        for start in range(0, len(names), _NAMES):
            part = names[start : start + _NAMES]
            places = ",".join("?" * len(part))
            query = f"SELECT name, secret, book, seal FROM users WHERE name IN ({places})"  # noqa: S608  only marks
            with self._failing:
                for name, *parts in self._database.execute(query, part):
                    found[name] = tuple(parts)
        return found

    def _create(self, names: Sequence[str], terms: Terms | None) -> dict[str, tuple[bytes, bytes, bytes]]:
        if terms is None:
            raise LedgerError(
                f"{self._path}: {len(names)} users are new, and a new one needs a budget\n"
                "  -> give each user's lifetime budget in nats: terms=Terms(budget=...)"
            )
        made = {}
        for name in names:
            secret = new_secret()
            made[name] = (secret, *DatabaseStore(self, name, secret=secret).closed(Book(terms=terms)))
        with self._failing:
            self._database.executemany(
                "INSERT INTO users VALUES (?, ?, ?, ?)", ((name, *parts) for name, parts in made.items())
            )
        return made


class _Failing:
    """A block in which a failure of the database is said as a `LedgerError`.

    One object serves all blocks: a generator for each would take a tenth of the time of a charge.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise LedgerError(f"{self._path}: cannot be used, so nothing was sent: {error}") from error


class DatabaseStore(Sealed):
    """The store of one user's book in a `UserDatabase`."""

    def __init__(self, database: UserDatabase, name: str, *, secret: bytes) -> None:
        super().__init__("a ledger of the database", secret=secret, anew="delete the user's row to begin anew")
        self._database = database
        self._name = name

    @property
    def together(self) -> Callable[[], AbstractContextManager[None]]:
        """See `Store.together`."""
        return self._database.group

    def opened(self, content: bytes, seal: bytes) -> Book:
        """See `Sealed.opened`; raises LedgerError. What was opened or closed before it need not be checked again."""
        book = self._database.kept(self._seal_key, content, seal)
        if book is None:
            book = super().opened(content, seal)
            self._database.keep(self._seal_key, content, seal, book)
        return book

    def closed(self, book: Book) -> tuple[bytes, bytes]:
        """See `Sealed.closed`."""
        content, seal = super().closed(book)
        self._database.keep(self._seal_key, content, seal, book)
        return content, seal

    def read(self) -> Book:
        """See `Store.read`; raises LedgerError."""
        return self.opened(*self._database.load(self._name))

    def update(self, change: Callable[[Book], Book]) -> None:
        """See `Store.update`; raises LedgerError."""
        with self._database.group():
            self._database.store(self._name, *self.closed(change(self.read())))
