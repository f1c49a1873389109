"""What is damaged, missing or another's is said, and never taken for nothing; what is written is on the disk."""

import json
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream_ldp.ledger import store
from stream_ldp.ledger.ledger import json_of
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.reports import AttributeReport
from stream_ldp.ledger.store import LedgerError
from stream_ldp.records.reports import charges
from tests.ledger.ledgers import COLLECTION, NOON_MS, SECRET, UNLIMITED, counted, opened, spend


def test_spending_syncs_the_file_before_and_the_directory_after_replacing_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncing(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        steps.append(f"sync {kind} of {os.fstat(descriptor).st_size > 0}")
        fsync(descriptor)

    def replacing(draft: Path, target: Path) -> None:
        steps.append("replace")
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    spend(opened(path))
    assert steps == ["sync file of True", "replace", "sync directory of True"]


def test_a_changed_byte_is_noticed(path: Path) -> None:
    spend(opened(path))
    good = path.read_bytes()
    for place in range(len(good) - 1):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(LedgerError, match=r"damaged, or the ledger of another secret"):
            opened(path)
    path.write_bytes(good)
    assert counted(opened(path)) == 1


@pytest.mark.parametrize("length", [0, 1, 20, -70, -10])
def test_a_truncated_ledger_is_refused_as_damaged(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(LedgerError, match=r"(?s)damaged.*-> put back the newest good copy.*--new-ledger"):
        opened(path)


def test_a_count_cannot_be_set_back_without_the_secret(path: Path) -> None:
    spend(opened(path))
    content, seal = path.read_text(encoding="utf-8").split("\n", 1)
    document = json.loads(content)
    document["spending"]["accounts"][0]["memoised"] = 0
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n" + seal, encoding="utf-8")
    with pytest.raises(LedgerError, match=r"damaged"):
        opened(path)


def test_the_ledger_of_another_user_is_refused(path: Path) -> None:
    with pytest.raises(LedgerError, match=r"the ledger of another secret"):
        PrivacyLedger.open(path, secret=bytes(32))


def test_a_ledger_that_vanishes_is_not_made_anew(path: Path) -> None:
    ledger = opened(path)
    spend(ledger)
    path.unlink()
    with pytest.raises(LedgerError, match=r"(?s)is missing.*-> put it back.*--new-ledger"):
        spend(ledger)
    with pytest.raises(LedgerError, match=r"is missing"):
        opened(path)
    assert not path.exists()


def test_a_new_ledger_does_not_replace_an_existing_one(path: Path) -> None:
    spend(opened(path))
    with pytest.raises(LedgerError, match=r"there is a ledger already"):
        PrivacyLedger.create(path, secret=SECRET, terms=UNLIMITED)
    assert counted(opened(path)) == 1


def test_the_ledger_of_a_release_that_writes_more_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "json_of", lambda book: json_of(book).replace(b'"accounts"', b'"more": 1, "accounts"'))
        PrivacyLedger.create(path.with_name("newer"), secret=SECRET, terms=UNLIMITED)
    with pytest.raises(LedgerError, match=r"another release"):
        opened(path.with_name("newer"))


def test_threads_count_all_that_they_send(path: Path) -> None:
    def spend_slowly(ledger: PrivacyLedger) -> None:
        def reports() -> Iterator[AttributeReport]:
            for each in charges(COLLECTION, [(0, 1)], secret=SECRET, tag_key=ledger.tag_key):
                time.sleep(0.001)  # the others run meanwhile
                yield each

        ledger.spend(reports(), time_ms=NOON_MS)

    for ledger in (opened(path), PrivacyLedger.in_memory(secret=SECRET, terms=UNLIMITED)):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(spend_slowly, [ledger] * 24))
        assert counted(ledger) == 24


def test_a_draft_that_somebody_has_made_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched", encoding="utf-8")
    path.with_name(f".{path.name}.draft").symlink_to(victim)
    spend(opened(path))
    assert victim.read_text(encoding="utf-8") == "untouched"
    assert not path.is_symlink()
    assert counted(opened(path)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o606, 0o602])
def test_a_ledger_that_others_may_read_or_write_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(LedgerError, match=r"(?s)others may read it.*-> chmod 600 "):
        opened(path)


def test_a_ledger_known_by_a_symbolic_link_is_the_same_ledger(path: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(path)
    for turn in range(4):
        spend(opened((path, alias)[turn % 2]))
    assert alias.is_symlink()
    assert counted(opened(path)) == counted(opened(alias)) == 4
