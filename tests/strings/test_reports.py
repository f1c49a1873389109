"""Reports of strings, sent by a reporter to a broker in memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Assumption, LinkingRefused, Terms
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.strings.permanent import asked
from tests.client import reports
from tests.client.fakes import FakeBroker
from tests.client.reports import SECRET, unlimited
from tests.strings.examples import collection_of, users

COLLECTION = collection_of()
reporter = partial(reports.reporter, COLLECTION)


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.words.reports"}
    return broker


async def test_a_string_with_the_same_hash_costs_nothing_more(broker: FakeBroker) -> None:
    numbers, seeds = asked(COLLECTION, secrets=[SECRET])
    (number,) = numbers.tolist()
    length = COLLECTION.method.questions.questions[number].meaning
    other = "banana"[:length] + "zzzzzz"[length:]
    ledger = unlimited(SECRET)
    async with reporter(ledger=ledger) as sender:
        await sender.report({"word": "banana"})
        await sender.report({"word": other})
    first, second = broker.decoded(COLLECTION).rows[0].tolist()
    assert first == second
    assert ledger.spending.epsilon == COLLECTION.method.questions.epsilon
    assert len(seeds) == 1


async def test_users_without_a_secret_are_asked_at_random_and_others_for_ever(broker: FakeBroker) -> None:
    secrets = [bytes([user]) * 32 for user in range(200)]
    async with reporter(entropy=SeededEntropy(1)) as sender:
        await sender.report_many(users(COLLECTION, 200), secrets=secrets)
        await sender.flush()
        counted = np.bincount(broker.decoded(COLLECTION).rows[0][:, 0], minlength=3)
        assert np.array_equal(counted, np.bincount(asked(COLLECTION, secrets=secrets)[0], minlength=3))
        await sender.report_many(users(COLLECTION, 2_000), secrets=None)
    rows = np.concatenate(broker.decoded(COLLECTION).rows)
    draws = np.bincount(rows[:, 0], minlength=3) - counted
    # Seeded; else 1 seed in 10^6 is 5 standard deviations of at most 22 off.
    assert np.all(np.abs(draws - 2_000 * COLLECTION.method.questions.shares) < 115)
    assert len(np.unique(rows[:, 1:5], axis=0)) > 2_190


async def test_reports_with_fresh_noise_share_neither_seed_nor_question(broker: FakeBroker) -> None:
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=1_000, assumption=Assumption.FRESH))
    async with reporter(ledger=ledger, entropy=SeededEntropy(1)) as sender:
        for _ in range(100):
            await sender.report({"word": "banana"})
    rows = broker.decoded(COLLECTION).rows[0]
    # Of 100 draws of 32 bits, two are alike for one seed in 10^6.
    assert len(np.unique(rows[:, 1:5], axis=0)) == 100
    assert set(rows[:, 0]) == set(range(len(COLLECTION.method.questions.questions)))
    assert ledger.spending.epsilon == pytest.approx(100 * COLLECTION.method.questions.epsilon)


async def test_a_seed_for_ever_needs_an_agreement(broker: FakeBroker) -> None:
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=100))
    async with reporter(ledger=ledger) as sender:
        with pytest.raises(LinkingRefused, match="collection 'words' links the reports of a user"):
            await sender.report({"word": "banana"})
        assert ledger.spending.epsilon == 0
        ledger.agree(Terms(budget=100, linked=True), change_terms=True)
        await sender.report({"word": "banana"})
    assert broker.decoded(COLLECTION).counts.sum() == 1


async def test_users_report_also_if_their_string_cannot_be_found(broker: FakeBroker) -> None:
    async with reporter() as sender:
        for string in ("bananas", "Fig", "", None):
            await sender.report({"word": string})
    assert len(np.unique(broker.decoded(COLLECTION).rows[0], axis=0)) == 1, "all such strings are one value"


@pytest.mark.parametrize("wrong", [{"word": ["fig"]}, {"fruit": "fig"}, {}])
async def test_a_record_without_a_string_is_refused(broker: FakeBroker, wrong: dict[str, str]) -> None:
    async with reporter() as sender:
        with pytest.raises(ValueError, match="attribute"):
            await sender.report(wrong)
    assert broker.sent == []
