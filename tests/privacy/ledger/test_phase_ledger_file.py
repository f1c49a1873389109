"""The ledger of a user who reports to phases, in a file: one report to each, whoever asks and whenever."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import create_model

from stream_ldp.client import AlreadyReported, BudgetExceeded, LedgerError, PrivacyLedger, Terms
from stream_ldp.privacy.ledger import ledger_file
from stream_ldp.privacy.ledger.ledger import Account, Spending
from tests.client.examples import collection_of
from tests.client.items import EPOCH, films

SECRET = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a new ledger."""
    PrivacyLedger.create(tmp_path / "ledger", secret=SECRET)
    return tmp_path / "ledger"


def opened(path: Path, budget: float = 100.0) -> PrivacyLedger:
    return PrivacyLedger.open(path, secret=SECRET, terms=Terms(budget=budget))


def test_a_refused_report_is_not_counted(path: Path) -> None:
    opened(path).spend_phase(films(), phase=1, epoch=EPOCH)
    before = path.read_bytes()
    with pytest.raises(
        AlreadyReported, match=r"the last report to phase 1 of collection 'films' was in epoch 9500000"
    ):
        opened(path).spend_phase(films(), phase=1, epoch=EPOCH)
    with pytest.raises(BudgetExceeded, match=r"would cost 0\.800 nats of privacy, and 0\.700 are left"):
        opened(path, budget=1.9).spend_phase(films(), phase=2, epoch=EPOCH)
    assert path.read_bytes() == before


def test_of_clients_that_report_at_the_same_time_exactly_one_succeeds(path: Path) -> None:
    def is_counted(epoch: int) -> bool:
        try:
            opened(path).spend_phase(films(), phase=1, epoch=epoch)
        except AlreadyReported:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for epoch in range(3):
            assert sum(pool.map(is_counted, [epoch] * 8)) == 1
    (account,) = opened(path).spending.phases
    assert account.reports == 3


def test_a_ledger_of_an_earlier_release_is_read_and_a_later_one_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = create_model("Earlier", __base__=Spending.__base__, accounts=(tuple[Account, ...], ()))
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file, "Spending", earlier)
        PrivacyLedger.create(path.with_name("earlier"), secret=SECRET)
    assert path.with_name("earlier").read_bytes() != path.read_bytes()
    opened(path.with_name("earlier")).spend_phase(films(), phase=1, epoch=EPOCH)
    monkeypatch.setattr(ledger_file, "Spending", earlier)
    with pytest.raises(LedgerError, match=r"another release"):
        opened(path.with_name("earlier"))


def test_a_thief_learns_only_when_and_how_often_a_user_reported(path: Path) -> None:
    ledger = opened(path)
    ledger.spend_phase(films(), phase=1, epoch=EPOCH)
    ledger.spend(ledger.attribute_reports(collection_of(), [(0, 1)]))
    document = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert document["phases"] == [
        {
            "collection": "films",
            "fingerprint": films().fingerprint.hex(),
            "phase": 1,
            "epsilon": 1.2,
            "last_epoch": EPOCH,
            "answers": 1,
        }
    ]
    assert ledger.spending.epsilon == pytest.approx(1.2 + collection_of().mechanism.epsilon(reports=1))
