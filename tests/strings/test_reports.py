"""Reports of strings, sent by a reporter to a broker in memory."""

import hashlib
from functools import partial

import numpy as np
import pytest

from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Assumption, LinkingRefused, Terms
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.strings.reports import asked, held_words, permanent_answers
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


SECRETS = [hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(2_000)]


def test_question_and_seed_do_not_depend_on_the_string() -> None:
    """Of 2,000 users, each count is 6 standard deviations off for 1 set of secrets in 10^8."""
    numbers, seeds = asked(COLLECTION, secrets=SECRETS)
    expected = 2_000 * COLLECTION.method.questions.shares
    assert np.all(np.abs(np.bincount(numbers, minlength=3) - expected) < 6 * np.sqrt(expected))
    assert len(set(seeds.tolist())) > 1_990
    again = asked(collection_of(), secrets=SECRETS)
    assert np.array_equal(again[0], numbers)
    assert np.array_equal(again[1], seeds)
    answers = COLLECTION.method.questions.answers(
        permanent_answers(COLLECTION, users(COLLECTION, 2_000), secrets=SECRETS)
    )
    assert np.array_equal(answers.numbers, numbers)
    assert np.array_equal(answers.seeds, seeds)


def test_a_report_changes_only_with_what_is_asked_about() -> None:
    string = COLLECTION.string
    tables = [COLLECTION.table([string.encode(word)] * 300) for word in ("banana", "bandit", "cherry")]
    first, second, third = (permanent_answers(COLLECTION, table, secrets=SECRETS[:300]) for table in tables)
    numbers, _ = asked(COLLECTION, secrets=SECRETS[:300])
    about_two_letters = numbers == 0
    assert np.array_equal(first[about_two_letters], second[about_two_letters])
    assert not np.array_equal(first[about_two_letters], third[about_two_letters])
    assert not np.array_equal(first[numbers == 2], second[numbers == 2])


def test_words_are_those_of_the_documented_digest() -> None:
    data = COLLECTION.fingerprint + bytes([2, 0]) + (17).to_bytes(8, "little") + bytes(4)
    digest = hashlib.blake2b(data, key=SECRETS[0], digest_size=64, person=b"stream-ldp ans 1").digest()
    words = held_words(COLLECTION, 2, np.array([17]), key=SECRETS[0]).words(16)
    assert words.tobytes() == digest


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a user secret has 32 bytes"):
        asked(COLLECTION, secrets=[b"short"])
    assert permanent_answers(COLLECTION, COLLECTION.table([]), secrets=[]).shape == (0, 6)
