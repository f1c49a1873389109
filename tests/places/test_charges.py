"""What reports of places cost, sent by a reporter to a broker in memory, and which question they answer."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Assumption, BudgetExceeded, Terms, TooManyValues
from stream_ldp.mechanisms import SeededEntropy
from tests.client import reports
from tests.client.fakes import FakeBroker
from tests.client.reports import SECRET
from tests.places.examples import collection_of, users

COLLECTION = collection_of()
reporter = partial(reports.reporter, COLLECTION)
RECORD = {"place": "d", "region": "south", "epsilon": "0.5"}


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.visits.reports"}
    return broker


async def test_another_epsilon_costs_as_much_more(broker: FakeBroker) -> None:
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=2.4))
    async with reporter(ledger=ledger) as sender:
        await sender.report(RECORD)
        with pytest.raises(BudgetExceeded):
            await sender.report({**RECORD, "epsilon": "2"})
    assert ledger.spending.epsilon == 0.5
    assert broker.decoded(COLLECTION).counts.sum() == 1


async def test_a_user_who_moves_or_chooses_another_region_is_refused_or_charged_again(broker: FakeBroker) -> None:
    others = [{**RECORD, "place": "c"}, {**RECORD, "region": "everywhere"}]
    async with reporter() as sender:
        await sender.report(RECORD)
        for other in others:
            with pytest.raises(TooManyValues, match="the answer about place has had another value"):
                await sender.report(other)
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=9, assumption=Assumption.VALUES, max_values=3))
    async with reporter(ledger=ledger) as sender:
        for record in (RECORD, *others, RECORD):
            await sender.report(record)
    assert ledger.spending.epsilon == 1.5


async def test_many_users_answer_within_the_regions_that_they_have_chosen(broker: FakeBroker) -> None:
    people = users(300)
    async with reporter(entropy=SeededEntropy(1)) as sender:
        await sender.report_many(people, secrets=None)
    draws = COLLECTION.questions.draws(COLLECTION.questions.sums(broker.decoded(COLLECTION).rows[0]))
    assert np.array_equal(draws, np.bincount(COLLECTION.chosen(people), minlength=6))
