"""The privacy ledger of one user in a file: what a report costs is on the disk before the report leaves."""

import hmac
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Self

from stream_ldp.collection.turns import Turn
from stream_ldp.ledger.ledger import Book, Spending, check_terms, day_of
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.reports import AttributeReport, PhaseReport
from stream_ldp.ledger.secret import (
    SecretError,
    draw_secret,
    drawn_secret,
    keep_secret,
    ledger_file_of,
    load_secret,
    make_directory,
    secret_file_of,
)
from stream_ldp.ledger.store import FileStore, LedgerError, MemoryStore, Store, derived_key, locked
from stream_ldp.ledger.terms import LinkingRefused, Terms

log = logging.getLogger(__name__)

# 16 bytes that separate this purpose of a key, which BLAKE2b derives from a user's secret, from others.
_TAG_PERSON = b"stream-ldp tag 1"


class LooserTerms(LedgerError):
    """The given terms allow more than those to which the user has agreed. The ledger keeps the latter."""

    def __init__(self, looser: Sequence[str]) -> None:
        super().__init__(
            f"the user has not agreed to {' and '.join(looser)}\n"
            "  -> leave it out; if the user agrees now: change_terms=True, or `stream-ldp report --change-terms`"
        )


class PrivacyLedger:
    """The record of what one user has spent, over all collections, and may still spend.

        ledger = PrivacyLedger.open("/home/ada/secret.ledger", secret=secret)
        async with Reporter(collection, settings=settings, secret=secret, ledger=ledger) as reporter:
            ...

    The file holds the terms to which the user has agreed, counts, and a keyed digest of each different permanent
    response. Without the secret, a reader of it learns no value and no item. It does show how often the user has
    reported to each collection, and how many values each attribute has had. It shows the epochs of the reports to
    each phase of an item collection, the time of the last turn, and the cost of the last days. The file is sealed
    with the secret, so that a change by anybody else is detected. So is an older copy of it that is put back by
    itself, since a second file has the number of the newest update. Of copies of both, what was spent since is
    forgotten.

    Several processes and threads may spend from one file, under whatever name they know it.
    """

    def __init__(self, store: Store, *, secret: bytes, terms: Terms) -> None:
        """Use a store. Applications call `open`, `create` or `in_memory` instead."""
        self._store = store
        self._tag_key = derived_key(secret, _TAG_PERSON)
        self._terms = terms

    @classmethod
    def open(cls, path: str | Path, *, secret: bytes, terms: Terms | None = None, change_terms: bool = False) -> Self:
        """Open the ledger in a file. It must be there: without it, what was spent is not known.

        terms: stricter terms than those in the file, which replace them; None for those in the file.
        change_terms: also replace them by looser ones. Ask the user first.

        Raises:
            LooserTerms: the terms are looser than those in the file, and `change_terms` is not set.
            LedgerError: the file is missing, damaged, not of this user, or others may read it.
            ValueError: the secret is not one.
        """
        store = FileStore(Path(path), secret=secret)
        ledger = cls(store, secret=secret, terms=store.read().terms)
        if terms is not None and terms != ledger.terms:
            ledger.agree(terms, change_terms=change_terms)
        return ledger

    @classmethod
    def create(cls, path: str | Path, *, secret: bytes, terms: Terms) -> Self:
        """Create a new ledger, for a user who has never reported.

        Raises:
            LedgerError: there is a file already, or it cannot be written.
            ValueError: the secret is not one.
        """
        store = FileStore(Path(path), secret=secret)
        with locked(store.path):
            store.create(terms)
        return cls(store, secret=secret, terms=terms)

    @classmethod
    def in_memory(cls, *, secret: bytes, terms: Terms | None = None) -> Self:
        """Create a ledger that is never written to a file and is lost with the process.

        terms: None for the default ones.
        """
        terms = terms or Terms()
        return cls(MemoryStore(terms), secret=secret, terms=terms)

    @property
    def together(self) -> Callable[[], AbstractContextManager[None]] | None:
        """See `Store.together`."""
        return self._store.together

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
        return self._store.read().spending

    def agree(self, terms: Terms, *, change_terms: bool = False) -> None:
        """Replace the terms to which the user has agreed, for every process that uses the file.

        change_terms: also by looser ones. Ask the user first.

        Raises:
            LooserTerms: the terms are looser, and `change_terms` is not set.
            LedgerError: as `spend`.
        """

        def replaced(book: Book) -> Book:
            looser = terms.looser_than(book.terms)
            if looser and not change_terms:
                raise LooserTerms(looser)
            return replace(book, terms=terms)

        self._store.update(replaced)
        self._terms = terms

    def is_of(self, secret: bytes) -> bool:
        """Decide whether the ledger counts what is reported with this secret."""
        return hmac.compare_digest(self._tag_key, derived_key(secret, _TAG_PERSON))

    @property
    def tag_key(self) -> bytes | None:
        """The key of the tags that distinguish permanent responses; None where they are drawn afresh.

        It is the user's, and the ledger's file does not hold it.
        """
        return self._tag_key if self._terms.memoises else None

    def spend(
        self, reports: Iterable[AttributeReport | PhaseReport], *, time_ms: int, turn: Turn | None = None
    ) -> Receipt:
        """Count reports that are about to be sent; once this returns, they are counted whatever happens.

        time_ms: the time, in milliseconds since 1970-01-01 UTC, which decides to what day they are charged.
        turn: in which they are made, of a collection whose users take turns; all phases of an epoch are one turn.

        Returns:
            What they show and cost, without the reports themselves.

        Raises:
            LinkingRefused, AlreadyReported, TurnTaken, TooManyValues, BudgetExceeded: they may not be sent, and
                are not counted.
            LedgerError: the file is missing, damaged or not of this user, or cannot be written; nothing may be sent.
        """
        reports = tuple(reports)
        linking = next((report.collection for report in reports if report.linked), None)
        again = any(report.phases for report in reports)
        day = day_of(time_ms)
        states: list[tuple[Spending, Book]] = []

        def allowed(book: Book) -> Book:
            if linking is not None and not book.terms.linked:
                raise LinkingRefused(collection=linking)
            before = book.spending
            made = before.after_turn(turn, again=again).after(reports).on_day(day, since=before)
            # The file's terms: another process may have made them stricter.
            after = made.in_span(book.terms.span_ms, time_ms=time_ms, since=before)
            check_terms(book.terms, before, after, time_ms=time_ms)
            changed = replace(book, spending=after)
            states.append((before, changed))
            return changed

        self._store.update(allowed)
        before, book = states[-1]
        spent = book.spending.epsilon
        return Receipt(
            collection=reports[0].collection if reports else "",
            about=tuple(dict.fromkeys(subject for report in reports for subject in report.subjects)),
            linked=linking is not None,
            cost=max(0.0, spent - before.epsilon),
            spent=spent,
            budget=book.terms.budget,
            promise=book.spending.promise,
        )


def load_or_create_user(
    secret_file: str | Path, *, terms: Terms | None = None, change_terms: bool = False
) -> tuple[bytes, PrivacyLedger]:
    """Load the secret in a file and the ledger beside it; create both if there is neither.

    A new user is logged as a warning: a user whose files are lost, or are looked for in another directory, begins
    with a new budget and new permanent noise. What was spent before is not counted.

    secret_file: an absolute path for a new user, since a relative one would name another user in every directory. A
        symbolic link stands for its target, beside which the ledger is.
    terms: those to which the user agrees. A new user needs them; otherwise see `PrivacyLedger.open`.
    change_terms: see `PrivacyLedger.open`.

    A start that is killed leaves nothing that keeps the next one from making the user.

    Raises:
        SecretError: see `load_or_create_secret`; or the path of a new user's is relative.
        LooserTerms: the terms are looser than those in the ledger, and `change_terms` is not set.
        LedgerError: there is a secret without a ledger, or a ledger without its secret, one that cannot be used, or
            a new user without terms.
    """
    is_absolute = Path(secret_file).is_absolute()
    secret_file = secret_file_of(secret_file)
    ledger_file = ledger_file_of(secret_file)
    if not secret_file.exists() and not ledger_file.exists():
        # Before the lock, so that nothing is left where no user may be made.
        _require_new_user(secret_file, is_absolute=is_absolute, terms=terms)
        make_directory(secret_file)
    # Without the lock, one of two processes that both start first would find a secret without a ledger.
    with locked(ledger_file):
        if secret_file.exists():
            secret = load_secret(secret_file)
        else:
            secret = _make_user(secret_file, ledger_file, is_absolute=is_absolute, terms=terms)
    return secret, PrivacyLedger.open(ledger_file, secret=secret, terms=terms, change_terms=change_terms)


def _make_user(secret_file: Path, ledger_file: Path, *, is_absolute: bool, terms: Terms | None) -> bytes:
    """Make a new user, with the lock of the ledger.

    The secret gets its name last, so a secret without a ledger is always that of a user whose ledger is lost. A start
    that was killed has left the secret that it drew, and perhaps a ledger sealed with it, from which nothing can have
    been spent: both are taken over.
    """
    drawn = drawn_secret(secret_file)
    if ledger_file.exists() and (drawn is None or not FileStore(ledger_file, secret=drawn).is_unspent()):
        raise LedgerError(
            f"{ledger_file}: the ledger of a user whose secret {secret_file} is missing\n"
            "  -> put the secret back; for another user, choose another file"
        )
    agreed = _require_new_user(secret_file, is_absolute=is_absolute, terms=terms)
    log.warning(
        "%s: a new user, with a budget of %g nats; keep this file and %s: without them, the next start makes "
        "another user, whose budget begins anew",
        secret_file,
        agreed.budget,
        ledger_file.name,
    )
    secret = draw_secret(secret_file) if drawn is None else drawn
    FileStore(ledger_file, secret=secret).begin(agreed)
    keep_secret(secret_file)
    return secret


def _require_new_user(secret_file: Path, *, is_absolute: bool, terms: Terms | None) -> Terms:
    """Return the terms of a new user, after checking that one may be made."""
    if not is_absolute:
        raise SecretError(
            f"{secret_file}: there is no user, and a relative path would make another one in every directory\n"
            "  -> give an absolute path"
        )
    if terms is None:
        raise LedgerError(
            f"{secret_file}: there is no user, and a new one needs a budget\n"
            "  -> give the user's lifetime budget in nats: terms=Terms(budget=...), or --budget NATS"
        )
    return terms
