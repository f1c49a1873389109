"""Honest reporters of item sets keep all that the audit looks for; tests/test_breaks.py has those that do not."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.audit.wire.sets import Sets
from stream_ldp.cli.audit import audit_clients
from stream_ldp.client.audit.respondent import RepeatableEntropy, RoundAuditor
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.mechanisms import SECRET_BYTES
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.reports import permanent_words
from tests.client.items import films

SVIM = "{kind: svim, epsilon: 3, k: 3, set_size: 4}"
GFIM = "{kind: gfim, epsilon: 2.345, k: 2, k_max: 4, set_size: 2}"


# That one method keeps its promises is quickly shown in tests/cli/test_audit.py.
@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "epochs"),
    [
        (GFIM, "pipelined"),
        (SVIM, "sequential"),
        (SVIM, "pipelined"),
        (GFIM, "sequential"),
    ],
)
async def test_honest_reporters_break_no_promise(mechanism: str, epochs: str, tmp_path: Path) -> None:
    """It fails by chance in 2 of 10^6 runs."""
    collection = films(mechanism=mechanism, epochs=epochs, size="10s")
    found = await audit_clients(collection, collection.document, tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert sum(each.chance for each in found) < 3e-6


MEMOISED = films(mechanism="{kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}", size="10s")


async def test_an_honest_user_who_memoises_breaks_no_promise(tmp_path: Path) -> None:
    """All but the order of many users' reports, which is the same code whatever they report."""
    user = RoundAuditor(MEMOISED, Sets(MEMOISED.document), tmp_path)
    with user.log.kept():
        lasting, restarted = await user.runs()
    seen = [*user.answers(lasting, restarted), *user.surroundings(lasting), *user.surroundings(restarted)]
    rows = [*user.meaning(), *user.rows(restarted), *user.specified(), *user.permanent()]
    assert [*seen, *rows, *user.frames(MEMOISED.document), *user.logged()] == []
    assert [*user.repeats, *user.mischarged] == []


@pytest.mark.long
async def test_honest_reporters_that_memoise_break_no_promise(tmp_path: Path) -> None:
    """It fails by chance in 2 of 10^6 runs."""
    found = await audit_clients(MEMOISED, MEMOISED.document, tmp_path)
    assert [each for each in found if each.problem is not None] == []


async def test_a_reporter_that_draws_what_is_permanent_anew_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def of_another_user(collection: ItemCollection, *, key: bytes) -> Any:
        return permanent_words(collection, key=os.urandom(SECRET_BYTES))

    monkeypatch.setattr("stream_ldp.sets.reports.permanent_words", of_another_user)
    users = RoundAuditor(MEMOISED, Sets(MEMOISED.document), tmp_path)
    _, restarted = await users.runs()
    assert list(users.rows(restarted)) != []


async def test_a_reporter_that_charges_no_permanent_response_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    original = PrivacyLedger.spend

    def spend_once(self: PrivacyLedger, *arguments: Any, **options: Any) -> Any:
        receipt = original(self, *arguments, **options)
        spending = self.spending
        accounts = tuple(replace(each, memoised=1) for each in spending.accounts)
        self._store.update(lambda book: replace(book, spending=replace(spending, accounts=accounts)))
        return receipt

    monkeypatch.setattr(PrivacyLedger, "spend", spend_once)
    users = RoundAuditor(MEMOISED, Sets(MEMOISED.document), tmp_path)
    await users.runs()
    assert users.mischarged != []


async def test_a_permanent_sign_of_another_secret_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    users = RoundAuditor(MEMOISED, Sets(MEMOISED.document), tmp_path)
    assert list(users.permanent()) == []
    monkeypatch.setattr("stream_ldp.mechanisms.loloha.purpose_of_sign", lambda sign: b"sign")
    assert list(users.permanent()) != []


def test_a_request_is_answered_alike_whatever_came_before_it() -> None:
    one, other = RepeatableEntropy(7), RepeatableEntropy(7)
    other.below(np.full(5, 2**31))
    other.subsets(np.array([9]), 4)
    other.shifts(np.array([2**31]), np.array([2]))
    other.outcomes(np.array([[2**31, 2**32]]))
    assert one.integers(np.array([10**6])) == other.integers(np.array([10**6]))


def test_the_same_request_is_answered_anew_each_time_and_by_each_seed() -> None:
    entropy = RepeatableEntropy(7)
    drawn = [int(entropy.integers(np.array([2**32]))[0]) for _ in range(20)]
    drawn += [int(RepeatableEntropy(seed).integers(np.array([2**32]))[0]) for seed in (8, 9)]
    assert len(set(drawn)) == len(drawn)


def test_requests_of_another_shape_have_another_stream() -> None:
    flat = RepeatableEntropy(7).integers(np.full(4, 2**32))
    square = RepeatableEntropy(7).integers(np.full((2, 2), 2**32))
    assert flat.tolist() != square.reshape(-1).tolist()
