"""Tests of a backend that reports for many users, each with a ledger of their own."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.kinds import kind_of
from stream_ldp.ledger.ledger_file import PrivacyLedger, load_or_create_user
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.store import LedgerError
from stream_ldp.ledger.terms import Assumption, BudgetExceeded, ReportRefused, Terms
from stream_ldp.records.reports import charges
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.client.examples import collection_of
from tests.in_memory import START_MS
from tests.marginals.examples import collection_of as sampled_collection

SURVEY = collection_of()
SECRETS = [bytes([user]) * 32 for user in range(1, 6)]
FRAME = pd.DataFrame(
    {"bathing": ["no", "yes", "no", "yes", "no"], "mobility": ["none", "some", "full", "none", "some"]}
)
ONE_REPORT = SURVEY.mechanism.epsilon()


def ledgers(*budgets: float, assumption: Assumption = Assumption.CONSTANT) -> list[PrivacyLedger]:
    return [
        PrivacyLedger.in_memory(secret=secret, terms=Terms(budget=budget, assumption=assumption))
        for secret, budget in zip(SECRETS, budgets, strict=True)
    ]


def reporter_on(kafka: KafkaInMemory) -> Reporter:
    return Reporter(SURVEY, settings=kafka.settings, clock=kafka.clock, max_reports=2)


async def test_each_report_is_counted_in_the_ledger_of_its_user(caplog: pytest.LogCaptureFixture) -> None:
    of_users = ledgers(*[20.0] * 5)
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka, caplog.at_level(logging.WARNING):
        async with reporter_on(kafka) as reporter:
            for _ in range(2):
                assert await reporter.report_many(FRAME, secrets=SECRETS, ledgers=of_users) == 5
        assert kafka.reports("care-survey") == 10
    alone = PrivacyLedger.in_memory(secret=SECRETS[0], terms=Terms(budget=20.0))
    alone.spend(charges(SURVEY, [(0, 0)] * 2, secret=SECRETS[0], tag_key=alone.tag_key), time_ms=START_MS)
    assert [each.spending.epsilon for each in of_users] == [alone.spending.epsilon] * 5
    assert "not counted" not in caplog.text


async def test_each_user_whose_report_is_counted_has_a_receipt_of_their_own() -> None:
    of_users = ledgers(20.0, ONE_REPORT / 2, 20.0, 20.0, 20.0)
    receipts: dict[int, Receipt] = {}
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka:
        async with reporter_on(kafka) as reporter:
            await reporter.report_many(
                FRAME,
                secrets=SECRETS,
                ledgers=of_users,
                on_refused=lambda *_: None,
                on_receipt=receipts.__setitem__,
            )
        assert kafka.reports("care-survey") == 4
    assert sorted(receipts) == [0, 2, 3, 4]
    for place, receipt in receipts.items():
        assert receipt.spent == receipt.cost == of_users[place].spending.epsilon
        assert (receipt.about, receipt.budget) == (("bathing", "mobility"), 20.0)
        (row,) = receipt.rows
        assert kind_of(SURVEY).layout(SURVEY).valid(np.frombuffer(row, dtype=np.uint8)[None]).all()
    assert len({receipt.rows for receipt in receipts.values()}) > 1


async def test_whoever_may_not_report_is_left_out_and_told() -> None:
    of_users = ledgers(20.0, ONE_REPORT / 2, 20.0, 20.0, ONE_REPORT / 2)
    told: list[tuple[int, ReportRefused | LedgerError]] = []
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka:
        async with reporter_on(kafka) as reporter:
            reported = await reporter.report_many(
                FRAME, secrets=SECRETS, ledgers=of_users, on_refused=lambda *refusal: told.append(refusal)
            )
            assert (reported, [place for place, _ in told]) == (3, [1, 4])
            with pytest.raises(BudgetExceeded):
                await reporter.report_many(FRAME, secrets=SECRETS, ledgers=of_users)
        assert kafka.reports("care-survey") == 6, "all others are sent, also where a refusal is raised"
    assert [each.spending.epsilon > 0 for each in of_users] == [True, False, True, True, False]


async def test_a_damaged_ledger_stops_its_user_alone(tmp_path: Path) -> None:
    known = [
        load_or_create_user(tmp_path / str(user) / "secret", terms=Terms(budget=20.0)) for user in range(len(FRAME))
    ]
    (tmp_path / "2" / "secret.ledger").write_text("{}")
    told = []
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka:
        async with reporter_on(kafka) as reporter:
            reported = await reporter.report_many(
                FRAME,
                secrets=[secret for secret, _ in known],
                ledgers=[ledger for _, ledger in known],
                on_refused=lambda place, why: told.append((place, type(why))),
            )
    assert (reported, told) == (4, [(2, LedgerError)])


async def test_users_who_assume_nothing_have_fresh_noise_beside_others_who_do_not_change() -> None:
    fresh = ledgers(*[1_000.0] * 5, assumption=Assumption.FRESH)
    mixed = [*fresh[:2], *ledgers(*[1_000.0] * 5)[2:]]
    shown: list[list[int]] = []
    survey = collection_of(mechanism="{kind: k-rr, epsilon: 0.1}")
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        reporter = Reporter(survey, settings=kafka.settings, clock=kafka.clock, max_reports=1)
        async with reporter:
            for user in (0, 4):
                for _ in range(40):
                    await reporter.report_many(
                        FRAME[user : user + 1], secrets=SECRETS[user : user + 1], ledgers=mixed[user : user + 1]
                    )
        rows = [batch[-1] for batch in kafka.batches("care-survey")]
        shown = [sorted(set(rows[:40])), sorted(set(rows[40:]))]
    # Of 40 fresh draws of 6 values, all nearly as likely as each other, two are equal throughout in 1 of 10^30 runs.
    assert [len(each) > 1 for each in shown] == [True, False]


async def test_a_sampled_collection_counts_each_users_answer() -> None:
    collection = sampled_collection()
    of_users = ledgers(*[20.0] * 5)
    people = {"diet": ["fish"] * 5, "age": [40] * 5, "smokes": ["no"] * 5}
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        async with Reporter(collection, settings=kafka.settings, clock=kafka.clock) as reporter:
            assert await reporter.report_many(people, secrets=SECRETS, ledgers=of_users) == 5
    assert [each.spending.epsilon > 0 for each in of_users] == [True] * 5


async def test_ledgers_that_are_not_those_of_the_users_are_refused_before_anything_is_spent() -> None:
    of_users = ledgers(*[20.0] * 5)
    with kafka_in_memory(SURVEY, now_ms=START_MS) as kafka:
        async with reporter_on(kafka) as reporter:
            for secrets, given, problem in (
                (None, of_users, "give the secrets, too"),
                (SECRETS, of_users[:4], "5 records with 4 ledgers"),
                (SECRETS, of_users[::-1], "the ledger of user 0 is of a user with another secret"),
            ):
                with pytest.raises(ValueError, match=problem):
                    await reporter.report_many(FRAME, secrets=secrets, ledgers=given)
            with pytest.raises(ValueError, match="has a value outside"):
                await reporter.report_many(np.full((5, 2), 9), secrets=SECRETS, ledgers=of_users)
        assert kafka.reports("care-survey") == 0
    assert not any(each.spending.epsilon for each in of_users)
