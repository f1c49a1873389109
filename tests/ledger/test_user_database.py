"""A backend's users are in one file: made once, charged together, and never partly."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.client.many_users import Charge, spend_each
from stream_ldp.client.reporter import Reporter
from stream_ldp.ledger import user_database
from stream_ldp.ledger.ledger import Book
from stream_ldp.ledger.ledger_file import LooserTerms, PrivacyLedger
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.store import LedgerError, Sealed
from stream_ldp.ledger.terms import BudgetExceeded, Terms
from stream_ldp.ledger.user_database import UserDatabase
from stream_ldp.records.reports import charges
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of
from tests.in_memory import START_MS
from tests.ledger.ledgers import NOON_MS

SURVEY = collection_of()
ONE_REPORT = SURVEY.mechanism.epsilon()
TERMS = Terms(budget=1.5 * ONE_REPORT)
ANN_AND_BOB = ["ann", "bob"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users.sqlite"


def charged(secrets: list[bytes], ledgers: list[PrivacyLedger]) -> tuple[dict[int, Receipt], dict[int, Any]]:
    """Charge a report of each user; return the receipts, and the refusals."""
    receipts: dict[int, Receipt] = {}
    made = [
        Charge(
            place=place,
            ledger=ledger,
            reports=charges(SURVEY, [(0, 1)], secret=secret, tag_key=ledger.tag_key),
        )
        for place, (secret, ledger) in enumerate(zip(secrets, ledgers, strict=True))
    ]
    return receipts, spend_each(made, time_ms=NOON_MS, turn=None, receipts=receipts)


def test_users_are_made_once(path: Path) -> None:
    secrets, ledgers = UserDatabase(path).load_or_create(ANN_AND_BOB, terms=TERMS)
    assert secrets[0] != secrets[1]
    assert [ledger.is_of(secret) for secret, ledger in zip(secrets, ledgers, strict=True)] == [True, True]
    again, _ = UserDatabase(path).load_or_create(["bob", "carol", "ann"], terms=TERMS)
    assert [again[1 + 1], again[0]] == secrets
    assert again[1] not in secrets


def test_other_processes_see_what_was_spent(path: Path) -> None:
    receipts, refused = charged(*UserDatabase(path).load_or_create(ANN_AND_BOB, terms=TERMS))
    assert refused == {}
    assert receipts[0].spent == pytest.approx(ONE_REPORT)
    _, ledgers = UserDatabase(path).load_or_create(ANN_AND_BOB)
    assert [ledger.spending.epsilon for ledger in ledgers] == [receipts[0].spent, receipts[1].spent]
    assert ledgers[0].terms == TERMS


def test_a_refused_user_does_not_keep_others_from_reporting(path: Path) -> None:
    users = UserDatabase(path)
    ann = users.load_or_create(["ann"], terms=Terms(budget=0.5 * ONE_REPORT))
    bob = users.load_or_create(["bob"], terms=TERMS)
    receipts, refused = charged(ann[0] + bob[0], ann[1] + bob[1])
    assert list(receipts) == [1]
    assert isinstance(refused[0], BudgetExceeded)
    assert ann[1][0].spending.epsilon == 0
    assert bob[1][0].spending.epsilon == pytest.approx(ONE_REPORT)


def test_nobody_is_charged_if_the_disk_is_full(path: Path) -> None:
    """The charge of one user fits, and that of the others does not: none of them may leave."""
    users = UserDatabase(path)
    names = [f"user {number}" for number in range(60)]
    known = users.load_or_create(names, terms=TERMS)
    pages = users._database.execute("PRAGMA page_count").fetchone()[0]
    users._database.execute(f"PRAGMA max_page_count = {pages + 1}")
    receipts, refused = charged(*known)
    assert receipts == {}
    assert sorted(refused) == list(range(60))
    assert all(isinstance(why, LedgerError) for why in refused.values())
    _, ledgers = UserDatabase(path).load_or_create(names)
    assert {ledger.spending.epsilon for ledger in ledgers} == {0.0}


async def test_a_reporter_charges_all_its_users_in_one_transaction(path: Path) -> None:
    users = UserDatabase(path)
    secrets, ledgers = users.load_or_create([f"user {number}" for number in range(50)], terms=TERMS)
    statements: list[str] = []
    users._database.set_trace_callback(statements.append)
    records = [{"bathing": "no", "mobility": "some"}] * 50
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka:
        async with Reporter(SURVEY, settings=kafka.settings, clock=kafka.clock) as reporter:
            assert await reporter.report_many(records, secrets=secrets, ledgers=ledgers) == 50
    assert statements.count("COMMIT") == 1
    assert [ledger.spending.epsilon for ledger in ledgers] == pytest.approx([ONE_REPORT] * 50)


def test_threads_and_processes_spend_one_after_the_other(path: Path) -> None:
    terms = Terms(budget=1e9)
    UserDatabase(path).load_or_create(ANN_AND_BOB, terms=terms)

    def spend_ten_times(database: UserDatabase) -> None:
        for _ in range(10):
            charged(*database.load_or_create(ANN_AND_BOB))

    one, other = UserDatabase(path), UserDatabase(path)
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(spend_ten_times, database) for database in (one, one, other, other)]:
            done.result()
    _, (ann, bob) = one.load_or_create(ANN_AND_BOB)
    assert [account.memoised for ledger in (ann, bob) for account in ledger.spending.accounts] == [40] * 2


def test_a_changed_book_is_noticed(path: Path) -> None:
    users = UserDatabase(path)
    users.load_or_create(ANN_AND_BOB, terms=TERMS)
    with sqlite3.connect(path) as direct:
        direct.execute("UPDATE users SET book = CAST(replace(book, '1', '9') AS BLOB) WHERE name = 'ann'")
    with pytest.raises(
        LedgerError, match="user 0: a ledger of the database: damaged, or the ledger of another secret"
    ):
        users.load_or_create(ANN_AND_BOB)
    users.load_or_create(["bob"])


def test_a_changed_seal_is_noticed_also_of_a_book_that_is_kept(path: Path) -> None:
    secrets, ledgers = UserDatabase(path).load_or_create(ANN_AND_BOB, terms=TERMS)
    with sqlite3.connect(path) as direct:
        direct.execute("UPDATE users SET seal = (SELECT seal FROM users WHERE name = 'bob') WHERE name = 'ann'")
    receipts, refused = charged(secrets, ledgers)
    assert set(receipts) == {1}
    assert "damaged, or the ledger of another secret" in str(refused[0])


def test_a_book_is_parsed_once_and_only_so_many_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_database, "_KEPT_BOOKS", 2)
    parsed: list[bytes] = []

    def open_book(self: Sealed, content: bytes, seal: bytes) -> Book:
        parsed.append(content)
        return opened(self, content, seal)

    opened = Sealed.opened
    monkeypatch.setattr(Sealed, "opened", open_book)
    users = UserDatabase(path)
    charged(*users.load_or_create(ANN_AND_BOB, terms=TERMS))
    users.load_or_create(ANN_AND_BOB)
    assert parsed == []
    users.load_or_create(["carol"], terms=TERMS)
    _, (ann,) = users.load_or_create(["ann"])
    assert len(parsed) == 1, "carol's is kept in place of ann's"
    assert ann.spending.epsilon == ONE_REPORT


def test_a_user_who_is_gone_is_not_one_who_has_spent_nothing(path: Path) -> None:
    users = UserDatabase(path)
    known = users.load_or_create(["ann"], terms=TERMS)
    with sqlite3.connect(path) as direct:
        direct.execute("DELETE FROM users")
    receipts, refused = charged(*known)
    assert receipts == {}
    assert "a user's ledger is missing" in str(refused[0])


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_while_it_is_open_lets_no_report_out(path: Path, replaced: bool, suffix: str) -> None:
    users = UserDatabase(path)
    known = users.load_or_create(["ann"], terms=TERMS)
    file = path.with_name(path.name + suffix)
    moved = file.rename(path.with_name("moved"))
    if replaced:
        file.write_bytes(moved.read_bytes())
    receipts, refused = charged(*known)
    assert receipts == {}
    assert "deleted or replaced while it was open, so nothing was sent" in str(refused[0])
    file.unlink(missing_ok=True)
    moved.rename(file)
    receipts, refused = charged(*known)
    assert set(receipts) == {0}


def test_terms_are_agreed_to_as_for_a_file(path: Path) -> None:
    users = UserDatabase(path)
    with pytest.raises(LedgerError, match=r"2 users are new, and a new one needs a budget\n  -> give"):
        users.load_or_create(ANN_AND_BOB)
    users.load_or_create(ANN_AND_BOB, terms=TERMS)
    looser = Terms(budget=100.0)
    with pytest.raises(LooserTerms, match="user 1: the user has not agreed to"):
        users.load_or_create(["carol", "ann"], terms=looser)
    _, (ledger,) = users.load_or_create(["ann"], terms=looser, change_terms=True)
    assert ledger.terms == looser
    with pytest.raises(ValueError, match="a user is named twice"):
        users.load_or_create(["ann", "ann"])


@pytest.mark.parametrize("names", ["ann", [7], [""], [None], ["\ud800"], [b"ann"]])
def test_a_name_is_a_text(names: Any, path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match=r"give a list of them|name 0 is "):
        UserDatabase(path).load_or_create(names, terms=TERMS)


@pytest.mark.skipif(os.name != "posix", reason="files have no mode there")
def test_only_the_owner_may_read_the_file(path: Path) -> None:
    UserDatabase(path).load_or_create(ANN_AND_BOB, terms=TERMS)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    path.chmod(0o640)
    with pytest.raises(LedgerError, match=r"others may read it\n  -> chmod 600 "):
        UserDatabase(path)


def test_what_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"names\n" * 100)
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="cannot be used, so nothing was sent: file is not a database"):
        UserDatabase(path)
    with pytest.raises(LedgerError, match="No such file or directory"):
        UserDatabase(path.parent / "no" / "users.sqlite")
