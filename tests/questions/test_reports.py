"""Reports of sampled collections, sent by a reporter to a broker in memory."""

from __future__ import annotations

import hashlib
from functools import partial

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Assumption, Terms, TooManyValues
from stream_ldp.marginals.answer import Frequencies
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION
from stream_ldp.mechanisms.repeated import RepeatedResponse
from stream_ldp.questions.reports import asked, held_words, permanent_answers
from tests.client import reports
from tests.client.fakes import FakeBroker
from tests.client.reports import SECRET, SETTINGS, unlimited
from tests.marginals.examples import collection_of, users
from tests.questions.examples import solved, sums_of

COLLECTION = collection_of()
reporter = partial(reports.reporter, COLLECTION)
(ASKED,) = asked(COLLECTION, secrets=[SECRET]).tolist()
ABOUT = COLLECTION.questions.questions[ASKED].attributes[0].name
RECORD = {"diet": "fish", "age": "41", "smokes": "no"}
OTHER = {"diet": "meat", "age": "42", "smokes": "yes"}


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.diets.reports"}
    return broker


async def test_what_is_not_asked_changes_neither_report_nor_ledger(broker: FakeBroker) -> None:
    ledger = unlimited(SECRET)
    async with reporter(ledger=ledger) as sender:
        await sender.report(RECORD)
        await sender.report({**OTHER, ABOUT: RECORD[ABOUT]})
    first, second = broker.decoded(COLLECTION).rows[0].tolist()
    assert first == second
    assert ledger.spending.epsilon == COLLECTION.questions.questions[ASKED].randomizer.epsilon


async def test_users_without_a_secret_are_asked_at_random_and_others_for_ever(broker: FakeBroker) -> None:
    secrets = [bytes([user]) * 32 for user in range(200)]
    async with reporter(entropy=SeededEntropy(1)) as sender:
        await sender.report_many(users(200), secrets=secrets)
        await sender.flush()
        counted = COLLECTION.questions.draws(COLLECTION.questions.sums(broker.decoded(COLLECTION).rows[0]))
        assert np.array_equal(counted, np.bincount(asked(COLLECTION, secrets=secrets), minlength=3))
        await sender.report_many(users(2_000), secrets=None)
    draws = COLLECTION.questions.draws(COLLECTION.questions.sums(np.concatenate(broker.decoded(COLLECTION).rows)))
    # Seeded; else 1 seed in 10^6 is 5 standard deviations of at most 21 off.
    assert np.all(np.abs(draws - counted - 2_000 * COLLECTION.questions.shares) < 110)


RAPPOR = """
collection: diets
mechanism: {kind: sampled, epsilon: 3, oracle: rappor, hashes: 2, p: 0.25, q: 0.75, cohorts: 4}
attributes: [{name: site, candidates: [a.example, b.example]}]
window: {size: 10s}
"""


async def test_every_report_by_rappor_has_noise_of_its_own_on_what_is_repeated_and_costs_it_once(
    broker: FakeBroker,
) -> None:
    """Of 2,000 reports, the share of each bit is 5 standard deviations off for one seed in 10^5."""
    collection, ledger = SampledCollection.parse(RAPPOR), unlimited(SECRET)
    async with Reporter(
        collection, settings=SETTINGS, secret=SECRET, ledger=ledger, linger=3600.0, entropy=SeededEntropy(1)
    ) as sender:
        for _ in range(2):
            await sender.report_series([("a.example",)] * 1_000)
    rows = np.concatenate(broker.decoded(collection).rows)
    assert len(np.unique(rows, axis=0)) > 1_900
    table = collection.table([("a.example",)])
    (repeated,) = np.unpackbits(permanent_answers(collection, table, secrets=[SECRET]), axis=1, bitorder="little")
    shares = np.unpackbits(rows, axis=1, bitorder="little").mean(axis=0)[8:]
    assert np.all(np.abs(shares - np.where(repeated[8:], 0.75, 0.25)) < 5 * 0.433 / np.sqrt(2_000))
    assert ledger.spending.epsilon == collection.questions.lifetime > collection.questions.epsilon


def repeating(epsilon: float, per_report: float, size: int) -> SampledCollection:
    values = [str(value) for value in range(size)]
    return SampledCollection.parse(
        f"collection: diets\nmechanism: {{kind: sampled, epsilon: {epsilon}, per_report: {per_report}}}\n"
        f"attributes: [{{name: diet, values: {values}}}]\nwindow: {{size: 10s}}\n"
    )


async def test_answers_that_are_perturbed_again_cost_what_their_reports_lose(broker: FakeBroker) -> None:
    """Of 400 seeded reports, those that keep the answer are 5 standard deviations off for one seed in 10^6."""
    collection, ledger = repeating(4, 2, 4), unlimited(SECRET)
    response = collection.questions.questions[0].randomizer
    assert isinstance(response, RepeatedResponse)
    spent = []
    async with Reporter(
        collection, settings=SETTINGS, secret=SECRET, ledger=ledger, entropy=SeededEntropy(1)
    ) as sender:
        for _ in range(400):
            await sender.report({"diet": "1"})
            spent.append(ledger.spending.epsilon)
    assert spent == [response.loss(reports=reports) for reports in range(1, 401)]
    assert max(spent) <= response.memoised.epsilon <= 4
    answer = permanent_answers(collection, collection.table([(1,)]), secrets=[SECRET])
    sent = np.concatenate(broker.decoded(collection).rows)
    chance = response.fresh / RESOLUTION
    assert abs((sent == answer).sum() - 400 * chance) < 5 * np.sqrt(400 * chance * (1 - chance))


async def test_two_values_are_charged_for_the_worst_sharing_of_their_reports(broker: FakeBroker) -> None:
    collection = repeating(4, 0.1, 64)
    ledger = PrivacyLedger.in_memory(
        secret=SECRET, terms=Terms(budget=20, assumption=Assumption.VALUES, max_values=3)
    )
    response = collection.questions.questions[0].randomizer
    async with Reporter(collection, settings=SETTINGS, secret=SECRET, ledger=ledger) as sender:
        await sender.report({"diet": "1"})
        assert ledger.spending.epsilon == response.epsilon
        await sender.report({"diet": "2"})
        assert ledger.spending.epsilon == pytest.approx(2 * response.epsilon)


async def test_a_value_that_changes_costs_nothing_more_until_it_leaves_its_buckets(broker: FakeBroker) -> None:
    """Of 40 values in 3 buckets, all together cost three times what one does, and a few reports of them less."""
    values = [f"v{number}" for number in range(40)]
    collection = SampledCollection.parse(
        "collection: diets\n"
        "mechanism: {kind: sampled, oracle: loloha, epsilon: 2, per_report: 1, buckets: 3, cohorts: 30}\n"
        f"attributes: [{{name: diet, values: {values}}}]\nwindow: {{size: 10s}}\n"
    )
    (number,) = asked(collection, secrets=[SECRET]).tolist()
    question = collection.questions.questions[number]
    buckets = question.inputs(collection.table([(value,) for value in range(40)]), entropy=SeededEntropy(0)).tolist()
    first, same, other = 0, buckets.index(buckets[0], 1), next(v for v in range(40) if buckets[v] != buckets[0])
    response = question.randomizer
    agreed = Terms(budget=6, assumption=Assumption.VALUES, max_values=3)
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=agreed)
    async with Reporter(collection, settings=SETTINGS, secret=SECRET, ledger=ledger) as sender:
        await sender.report({"diet": values[first]})
        assert ledger.spending.epsilon == response.epsilon
        await sender.report({"diet": values[same]})
        assert ledger.spending.epsilon == response.loss(reports=2)
        await sender.report({"diet": values[other]})
        assert ledger.spending.epsilon == pytest.approx(response.loss(reports=2) + response.epsilon)
        for value in values * 3:
            await sender.report({"diet": value})
    assert 5.9 < ledger.spending.epsilon <= 3 * response.memoised.epsilon <= 6
    constant = PrivacyLedger.in_memory(secret=SECRET, terms=Terms())
    async with Reporter(collection, settings=SETTINGS, secret=SECRET, ledger=constant) as sender:
        await sender.report({"diet": values[first]})
        await sender.report({"diet": values[same]})
        with pytest.raises(TooManyValues, match="about diet has had another value"):
            await sender.report({"diet": values[other]})


SECRETS = [hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(4_000)]


def test_users_are_asked_in_proportion_to_the_shares() -> None:
    """Of 4,000 users, each count is 6 standard deviations off for 1 set of secrets in 10^8."""
    counts = np.bincount(asked(COLLECTION, secrets=SECRETS), minlength=3)
    expected = 4_000 * COLLECTION.questions.shares
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected))


def test_a_user_is_asked_the_same_for_ever_and_anew_by_another_collection() -> None:
    first = asked(COLLECTION, secrets=SECRETS)
    assert np.array_equal(asked(collection_of(), secrets=SECRETS), first)
    assert not np.array_equal(asked(collection_of("epsilon: 2.1"), secrets=SECRETS), first)


def test_an_answer_stays_until_what_is_asked_changes() -> None:
    table = users(300)
    rows = permanent_answers(COLLECTION, table, secrets=SECRETS[:300])
    assert np.array_equal(permanent_answers(COLLECTION, table, secrets=SECRETS[:300]), rows)
    other = table.copy()
    other["0"] = (other["0"] + 1) % 3
    changed = (permanent_answers(COLLECTION, other, secrets=SECRETS[:300]) != rows).any(axis=1)
    about_diet = asked(COLLECTION, secrets=SECRETS[:300]) == 0
    assert not changed[~about_diet].any()
    assert changed[about_diet].any()


def test_permanent_answers_of_many_users_have_the_noise_that_is_stated() -> None:
    """4,000 users; 6 standard errors, as above."""
    people = users(4_000)
    rows = permanent_answers(COLLECTION, people, secrets=SECRETS)
    assert COLLECTION.questions.valid(rows).all()
    diet = solved(COLLECTION, (1.0, sums_of(COLLECTION, rows))).of("diet").estimate
    assert isinstance(diet, Frequencies)
    truth = np.bincount(people["0"]) / len(people)
    assert np.all(np.abs(np.array(diet.raw) - truth) < 6 * np.array(diet.standard_error))


def test_words_are_those_of_the_documented_digest() -> None:
    people = users(1)
    held = int(people["0"][0]).to_bytes(8, "little")
    data = COLLECTION.fingerprint + bytes([0, 0]) + held + bytes(4)
    digest = hashlib.blake2b(data, key=SECRETS[0], digest_size=64, person=b"stream-ldp ans 1").digest()
    words = held_words(COLLECTION, 0, people, key=SECRETS[0]).words(16)
    assert words.tobytes() == digest


def test_a_malformed_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        asked(COLLECTION, secrets=[b"short"])


def test_no_users_make_no_rows() -> None:
    assert permanent_answers(COLLECTION, users(0), secrets=[]).shape == (0, 2)
