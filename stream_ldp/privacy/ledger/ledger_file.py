"""The privacy ledger of one user in a file: what a report costs is on the disk before the report leaves."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from pydantic import ValidationError

from stream_ldp.errors import StreamLDPError
from stream_ldp.mechanisms import SECRET_BYTES
from stream_ldp.privacy.ledger.ledger import (
    CONSTANT_RECORD,
    Assumption,
    PhaseReport,
    Spending,
    Terms,
    attribute_reports,
)
from stream_ldp.privacy.ledger.secret import SecretError, load_or_create_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from stream_ldp.privacy.ledger.ledger import AttributeReport
    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sets.collection import ItemCollection

__all__ = ["LedgerError", "PrivacyLedger", "ledger_file_of", "load_or_create_user"]

# 16 bytes each that separate the purposes of the keys which BLAKE2b derives from a user's secret.
_TAG_PERSON = b"stream-ldp tag 1"
_SEAL_PERSON = b"stream-ldp seal1"


class LedgerError(StreamLDPError, ValueError):
    """A ledger is missing, damaged or not this user's, or cannot be written: nothing may be sent."""


class PrivacyLedger:
    """The record of what one user has spent, over all collections, and may still spend.

        ledger = PrivacyLedger.open("secret.ledger", secret=secret, terms=Terms(budget=4.0))
        async with Reporter(collection, settings=settings, secret=secret, ledger=ledger) as reporter:
            ...

    The file holds counts, and a keyed digest of each different permanent response. Anybody who reads it without the
    secret learns how often the user has reported to which collection, how many values each attribute has had, and in
    which epoch the user last reported to each phase of an item collection, but no value and no item. The file is
    sealed with the secret, so that a change by anybody else is detected. An older copy of it that is put back is not.

    Several processes and threads may spend from one file.
    """

    def __init__(self, store: _Store, *, secret: bytes, terms: Terms) -> None:
        """Use a store. Applications call `open`, `create` or `in_memory` instead."""
        self._store = store
        self._tag_key = _derived(secret, _TAG_PERSON)
        self._terms = terms

    @classmethod
    def open(cls, path: str | Path, *, secret: bytes, terms: Terms = CONSTANT_RECORD) -> Self:
        """Open the ledger in a file. It must be there: without it, what was spent is not known.

        Raises:
            LedgerError: the file is missing, damaged, or not of this user.
            ValueError: the secret is not one.
        """
        store = _FileStore(Path(path), secret=secret)
        store.read()
        return cls(store, secret=secret, terms=terms)

    @classmethod
    def create(cls, path: str | Path, *, secret: bytes, terms: Terms = CONSTANT_RECORD) -> Self:
        """Create a new ledger, for a user who has never reported.

        Raises:
            LedgerError: there is a file already, or it cannot be written.
            ValueError: the secret is not one.
        """
        store = _FileStore(Path(path), secret=secret)
        with _locked(store.path):
            store.create()
        return cls(store, secret=secret, terms=terms)

    @classmethod
    def in_memory(cls, *, secret: bytes, terms: Terms = CONSTANT_RECORD) -> Self:
        """Create a ledger that is never written to a file and is lost with the process."""
        return cls(_MemoryStore(), secret=secret, terms=terms)

    @property
    def terms(self) -> Terms:
        """The terms to which the user has agreed."""
        return self._terms

    @property
    def spending(self) -> Spending:
        """The spending so far of every process that uses the file.

        Raises:
            LedgerError: the file is missing, damaged, or not of this user.
        """
        return self._store.read()

    def is_of(self, secret: bytes) -> bool:
        """Decide whether the ledger counts what is reported with this secret."""
        return hmac.compare_digest(self._tag_key, _derived(secret, _TAG_PERSON))

    def attribute_reports(
        self, collection: JointCollection, values: Iterable[Sequence[int]]
    ) -> tuple[AttributeReport, ...]:
        """Describe what reports of these records would show; without the secret, it reveals no value.

        values: value indices as `JointCollection.encode` gives them, shape (n, attributes).
        """
        fresh = self._terms.assumption is Assumption.FRESH
        return attribute_reports(collection, values, tag_key=None if fresh else self._tag_key)

    def spend(self, reports: Iterable[AttributeReport]) -> None:
        """Count reports of records that are about to be sent; once this returns, they are counted whatever happens.

        Raises:
            TooManyValues, BudgetExceeded: they may not be sent, and are not counted.
            LedgerError: the file is missing, damaged or not of this user, or cannot be written; nothing may be sent.
        """
        self._update(lambda before: before.after(reports))

    def spend_phase(self, collection: ItemCollection, *, phase: int, epoch: int) -> None:
        """Count a report to a phase that is about to be sent; once this returns, it is counted whatever happens.

        Raises:
            AlreadyReported, BudgetExceeded: it may not be sent, and is not counted.
            LedgerError: as `spend`.
        """
        report = PhaseReport.to(collection, phase=phase, epoch=epoch)
        self._update(lambda before: before.after_phase(report))

    def _update(self, change: Callable[[Spending], Spending]) -> None:
        def allowed(before: Spending) -> Spending:
            after = change(before)
            self._terms.check(before, after)
            return after

        self._store.update(allowed)


def ledger_file_of(secret_file: str | Path) -> Path:
    """Return the path of the ledger that belongs to a secret file; it is beside it."""
    return Path(f"{secret_file}.ledger")


def load_or_create_user(secret_file: str | Path, *, terms: Terms = CONSTANT_RECORD) -> tuple[bytes, PrivacyLedger]:
    """Load the secret in a file and the ledger beside it; create both if there is neither.

    Raises:
        SecretError: the file is not a secret, others may read it, or it cannot be read or written.
        LedgerError: there is a secret without a ledger, or a ledger without its secret, or one that cannot be used.
    """
    secret_file = Path(secret_file)
    ledger_file = ledger_file_of(secret_file)
    try:
        secret_file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SecretError(f"{secret_file}: {error.strerror}") from error
    # Without the lock, one of two processes that both start first would find a secret without a ledger.
    with _locked(ledger_file):
        is_new = not secret_file.exists()
        if is_new and ledger_file.exists():
            raise LedgerError(
                f"{ledger_file}: the ledger of a user whose secret {secret_file} is missing\n"
                "  -> put the secret back; for another user, choose another file"
            )
        secret = load_or_create_secret(secret_file)
        if is_new:
            _FileStore(ledger_file, secret=secret).create()
    return secret, PrivacyLedger.open(ledger_file, secret=secret, terms=terms)


class _Store(Protocol):
    """The place where the spending of a user is stored."""

    def read(self) -> Spending:
        """Return the spending."""
        ...

    def update(self, change: Callable[[Spending], Spending]) -> None:
        """Replace the spending by what `change` makes of it, one update at a time; nothing changes if it raises."""
        ...


class _MemoryStore:
    """A store in memory, for the threads of one process."""

    def __init__(self) -> None:
        self._spending = Spending()
        self._lock = threading.Lock()

    def read(self) -> Spending:
        return self._spending

    def update(self, change: Callable[[Spending], Spending]) -> None:
        with self._lock:
            self._spending = change(self._spending)


class _FileStore:
    """A file of two lines: the spending in JSON, and its seal, a keyed digest of the first line."""

    def __init__(self, path: Path, *, secret: bytes) -> None:
        self.path = path
        self._seal_key = _derived(secret, _SEAL_PERSON)

    def read(self) -> Spending:
        try:
            content, _, seal = self.path.read_bytes().partition(b"\n")
        except FileNotFoundError as error:
            raise LedgerError(
                f"{self.path}: the ledger is missing, and what its user has spent is not known\n"
                f"  -> put it back; for a user who has never reported, make a new one: {_NEW_LEDGER}"
            ) from error
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror}") from error
        if not hmac.compare_digest(seal.strip(), self._seal(content)):
            raise LedgerError(
                f"{self.path}: damaged, or the ledger of another secret: what this user has spent is not known\n"
                f"  -> put back the newest good copy; without one, move it away and make a new one: {_NEW_LEDGER}, "
                "which does not count what was spent before"
            )
        try:
            return Spending.model_validate_json(content)
        except ValidationError as error:
            raise LedgerError(f"{self.path}: written by another release, which must be used to go on") from error

    def create(self) -> None:
        if self.path.exists():
            raise LedgerError(f"{self.path}: there is a ledger already, which a new one would forget\n  -> open it")
        self._write(Spending())

    def update(self, change: Callable[[Spending], Spending]) -> None:
        with _locked(self.path):
            self._write(change(self.read()))

    def _write(self, spending: Spending) -> None:
        content = spending.model_dump_json(by_alias=True).encode()
        # Always the same name: other writers are locked out, and what a crash leaves behind is overwritten.
        draft = self.path.with_name(f".{self.path.name}.draft")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content + b"\n" + self._seal(content) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
            _sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be written, so nothing was sent: {error.strerror}") from error

    def _seal(self, content: bytes) -> bytes:
        return hashlib.blake2b(content, key=self._seal_key, digest_size=32).hexdigest().encode()


_NEW_LEDGER = "PrivacyLedger.create, or `stream-ldp report --new-ledger`"


def _derived(secret: bytes, person: bytes) -> bytes:
    """Derive a key for one purpose. A digest made with the secret itself might be a permanent response."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a user secret has {SECRET_BYTES} bytes, got {len(secret)}")
    return hashlib.blake2b(key=secret, person=person, digest_size=SECRET_BYTES).digest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the directory of a ledger for all other processes. The file itself is replaced, so it cannot be locked."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from error
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _sync_directory(path: Path) -> None:
    """Make a rename outlive a power failure."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
