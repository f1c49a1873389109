"""Tests of the reporter against a broker that fails on demand."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiokafka.errors import MessageSizeTooLargeError

from stream_ldp.client.errors import DeliveryError, MissingTopic
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import LooserTerms, PrivacyLedger
from stream_ldp.ledger.terms import Assumption, LinkingRefused, Terms
from stream_ldp.mechanisms import GivenWords, OSEntropy, SeededEntropy
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.records.collection import JointCollection
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import MINUTE_MS, collection_of
from tests.client.fakes import FakeBroker
from tests.client.items import films
from tests.client.reports import RECORD, SECRET, reporter, unlimited, users
from tests.in_memory import START_MS
from tests.toy import Coins, Share

LINKED = JointCollection.model_validate(collection_of().document | {"linked": 2 * MINUTE_MS})
PERMANENT_ONLY = collection_of(mechanism="{kind: rr-ldp, f: 0.25}")


async def test_what_was_reported_arrives_as_batches_that_a_worker_reads(broker: FakeBroker) -> None:
    async with reporter(max_reports=10, clock=lambda: 5 * MINUTE_MS) as sender:
        await sender.report_many(users(25), secrets=None)
        await sender.flush()
        assert sender.acknowledged == 25
    decoded = broker.decoded()
    assert decoded.counts.tolist() == [10, 10, 5]
    assert decoded.time_ms.tolist() == [5 * MINUTE_MS] * 3
    assert [arguments["key"] for _, arguments in broker.sent] == decoded.batch_ids
    assert {topic for topic, _ in broker.sent} == {"stream-ldp.care-survey.reports"}
    assert {tuple(arguments) for _, arguments in broker.sent} == {("key", "value", "timestamp_ms", "headers")}
    assert {tuple(arguments["headers"]) for _, arguments in broker.sent} == {BATCH}, "the same of all clients"
    assert {arguments["timestamp_ms"] for _, arguments in broker.sent} == {5 * MINUTE_MS}, "not the client's clock"
    assert broker.stopped == ["producer"]


async def test_the_same_record_always_has_the_same_permanent_response(broker: FakeBroker) -> None:
    async with reporter(PERMANENT_ONLY) as sender:
        for _ in range(20):
            await sender.report(RECORD)
    values = PERMANENT_ONLY.encode(RECORD)
    words = PERMANENT_ONLY.permanent_words().words(SECRET, values)
    permanent = PERMANENT_ONLY.mechanism.permanent(np.array([values]), GivenWords(words))
    expected = np.packbits(permanent, axis=1, bitorder="little").tolist()
    assert broker.decoded(PERMANENT_ONLY).rows[0].tolist() == expected * 20


async def test_each_user_has_the_permanent_response_of_their_own_secret(broker: FakeBroker) -> None:
    secrets = [bytes([user]) * 32 for user in range(50)]
    async with reporter(PERMANENT_ONLY, max_reports=7) as sender:
        await sender.report_many(users(50), secrets=secrets)
    words = PERMANENT_ONLY.permanent_words().words_of(secrets, users(50))
    mechanism = PERMANENT_ONLY.mechanism
    permanent = mechanism.packed(mechanism.permanent(users(50), GivenWords(words)))
    assert sorted(broker.decoded(PERMANENT_ONLY).rows[0].tolist()) == sorted(permanent.tolist())


async def test_instantaneous_noise_is_fresh_in_every_report(broker: FakeBroker) -> None:
    async with reporter() as sender:
        for _ in range(200):
            await sender.report(RECORD)
    # One report in 32 at the most likely row: all 200 alike has probability below 10^-100.
    assert len(np.unique(broker.decoded().rows[0])) > 1


async def test_noise_comes_from_the_operating_system(broker: FakeBroker, os_words: list[int]) -> None:
    async with reporter() as sender:
        await sender.report(RECORD)
        assert os_words == [5], "one word a bit for the instantaneous response"
        os_words.clear()
        await sender.report_many(users(3), secrets=None)
        assert os_words == [15, 15], "and one for the permanent response of users without a secret"


async def test_a_seed_repeats_the_noise_but_never_a_batch_id(broker: FakeBroker) -> None:
    for _ in range(2):
        async with reporter(entropy=SeededEntropy(7)) as sender:
            await sender.report_many(users(100), secrets=None)
    decoded = broker.decoded()
    first, second = np.split(decoded.rows[0].ravel(), 2)
    assert sorted(first) == sorted(second)
    assert decoded.batch_ids[0] != decoded.batch_ids[1]


async def test_a_batch_that_does_not_fill_leaves_when_its_linger_is_over(broker: FakeBroker) -> None:
    async with reporter(linger=0.001) as sender:
        await sender.report(RECORD)
        async with asyncio.timeout(30):
            await broker.arrival.wait()
            broker.arrival.clear()
            await sender.report(RECORD)
            await broker.arrival.wait()
    assert broker.decoded().counts.tolist() == [1, 1]


async def test_a_full_batch_leaves_while_the_caller_keeps_reporting_without_a_pause(broker: FakeBroker) -> None:
    async with reporter(max_reports=1) as sender:
        for reported in range(1, 4):
            await sender.report(RECORD)
            assert len(broker.sent) == reported


async def test_reports_of_two_panes_do_not_share_a_batch(broker: FakeBroker) -> None:
    times = iter([MINUTE_MS - 1, MINUTE_MS - 1, MINUTE_MS])
    async with reporter(clock=lambda: next(times)) as sender:
        for _ in range(3):
            await sender.report(RECORD)
    decoded = broker.decoded()
    assert decoded.time_ms.tolist() == [MINUTE_MS - 6_000, MINUTE_MS]
    assert decoded.counts.tolist() == [2, 1]


async def test_a_batch_fits_in_a_record_however_many_reports_it_may_hold(broker: FakeBroker) -> None:
    async with reporter(max_reports=10**7) as sender:
        await sender.report_many(users(1_100_000), secrets=None)
    assert broker.decoded().counts.sum() == 1_100_000
    assert max(len(arguments["value"]) for _, arguments in broker.sent) <= 1_000_000


# A sample of the users.


def sampled(sample: float) -> JointCollection:
    return JointCollection.model_validate({**collection_of().document, "sample": sample})


async def test_a_user_who_is_not_asked_sends_nothing_and_is_charged_nothing(broker: FakeBroker) -> None:
    collection, panes = sampled(0.25), 40
    time_ms, ledger = 0, unlimited(SECRET)
    asked = [bool(collection.asks([SECRET], time_ms=pane * MINUTE_MS)[0]) for pane in range(panes)]
    assert 0 < sum(asked) < panes
    async with reporter(collection, ledger=ledger, clock=lambda: time_ms) as sender:
        for pane, asks in enumerate(asked):
            time_ms = pane * MINUTE_MS + 7_000
            assert (await sender.report(RECORD) is not None) is asks
            assert (await sender.report_series([collection.encode(RECORD)] * 2) is not None) is asks
    assert {time // MINUTE_MS for time in broker.decoded(collection).time_ms.tolist()} == {
        pane for pane, asks in enumerate(asked) if asks
    }
    assert broker.decoded(collection).counts.sum() == 3 * sum(asked)
    assert ledger.spending.epsilon == collection.mechanism.epsilon(reports=3 * sum(asked))


async def test_of_many_users_only_those_report_who_are_asked(broker: FakeBroker) -> None:
    collection = sampled(0.25)
    secrets = [user.to_bytes(32, "big") for user in range(2_000)]
    asked = int(collection.asks(secrets, time_ms=0).sum())
    async with reporter(collection, entropy=SeededEntropy(5)) as sender:
        assert await sender.report_many(users(2_000), secrets=secrets) == asked
        without = await sender.report_many(users(2_000), secrets=None)
    # Seeded; else standard deviation 19.
    assert abs(without - 500) < 100
    assert broker.decoded(collection).counts.sum() == asked + without


# Misuse raises a clear error.


async def test_a_missing_topic_is_named_with_the_cure(broker: FakeBroker) -> None:
    broker.topics = {"stream-ldp.other.reports"}
    with pytest.raises(MissingTopic, match=r"(?s)stream-ldp\.care-survey\.reports does not exist.*topics create"):
        async with reporter():
            pytest.fail("it was opened")
    assert broker.stopped == ["producer"]


async def test_refusing_a_record_that_does_not_fit_shows_no_value_and_loses_no_report(broker: FakeBroker) -> None:
    async with reporter() as sender:
        await sender.report(RECORD)
        with pytest.raises(
            ValueError, match=r"'mobility': the given value is not one of none, some, full"
        ) as refusal:
            await sender.report({"bathing": "no", "mobility": "wheelchair"})
        assert "wheelchair" not in str(refusal.value)
        with pytest.raises(ValueError, match=r"attribute 1 has a value outside 0\.\.2"):
            await sender.report_many([[0, 3]], secrets=None)
    assert broker.decoded().counts.sum() == 1


async def test_a_report_without_a_valid_secret_of_its_user_is_refused(broker: FakeBroker) -> None:
    async with reporter(secret=None) as sender:
        with pytest.raises(ValueError, match=r"needs the user's secret"):
            await sender.report(RECORD)
        with pytest.raises(ValueError, match=r"3 records with 2 secrets"):
            await sender.report_many(users(3), secrets=[SECRET, SECRET])
        with pytest.raises(ValueError, match=r"a user secret has 32 bytes, got 5"):
            await sender.report_many(users(1), secrets=[b"short"])
    assert broker.sent == []


async def test_a_reporter_that_is_not_open_says_so(broker: FakeBroker) -> None:
    sender = reporter()
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.report(RECORD)
    async with sender:
        await sender.report(RECORD)
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.report(RECORD)
    with pytest.raises(RuntimeError, match=r"not open"):
        await sender.flush()


async def test_neither_secret_nor_value_is_logged_sent_or_shown(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    telltale = JointCollection.model_validate(
        collection_of().document
        | {
            "attributes": [
                {"name": "bathing", "values": ["no", "yes"]},
                {"name": "mobility", "values": ["x", "zebra"]},
            ]
        }
    )
    broker.error = MessageSizeTooLargeError()
    secret = b"an unmistakable secret, 32 bytes"
    sender = reporter(telltale, secret=secret)
    with pytest.raises(DeliveryError) as failure:
        async with sender:
            await sender.report({"bathing": "no", "mobility": "zebra"})
    seen = [caplog.text, repr(sender), str(failure.value), repr(broker.sent)]
    for telling in ("zebra", repr(secret)[2:-1], secret.hex()):
        assert not any(telling in text for text in seen)


def linked_ledger(**terms: Any) -> PrivacyLedger:
    return PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=math.inf, linked=True, **terms))


async def pseudonyms_sent(broker: FakeBroker, ledger: PrivacyLedger | None, *times_ms: int) -> list[bytes]:
    """Report once at each time, to a collection of which a period has two windows, and return the pseudonyms."""
    moments = iter(times_ms)
    broker.sent.clear()
    async with reporter(LINKED, ledger=ledger, clock=lambda: next(moments)) as sender:
        for _ in times_ms:
            await sender.report(RECORD)
    return [row[:8].tobytes() for row in broker.decoded(LINKED).rows[0]]


async def test_the_reports_of_a_period_carry_the_users_pseudonym(broker: FakeBroker) -> None:
    first, same, other = await pseudonyms_sent(broker, linked_ledger(), 0, MINUTE_MS, 2 * MINUTE_MS)
    assert first == same != other
    (expected,) = LINKED.pseudonyms(1, secrets=[SECRET], time_ms=0, entropy=SeededEntropy(1))
    assert first == expected.tobytes()


async def test_a_clock_that_jumps_leaves_each_report_the_pseudonym_of_the_period_of_its_batch(
    broker: FakeBroker,
) -> None:
    """Forward over the end of a period, back, and an hour back: a batch never straddles periods."""
    times_ms = (2 * MINUTE_MS - 1, 2 * MINUTE_MS, 2 * MINUTE_MS - 5, 62 * MINUTE_MS, 2 * MINUTE_MS + 3)
    await pseudonyms_sent(broker, linked_ledger(), *times_ms)
    sent = broker.decoded(LINKED)
    assert sent.counts.tolist() == [1] * 5
    assert [each // (2 * MINUTE_MS) for each in sent.time_ms.tolist()] == [0, 1, 0, 31, 1]
    for row, time_ms in zip(sent.rows[0], sent.time_ms.tolist(), strict=True):
        (own,) = LINKED.pseudonyms(1, secrets=[SECRET], time_ms=time_ms, entropy=SeededEntropy(1))
        assert row[:8].tobytes() == own.tobytes()


async def test_two_devices_with_one_secret_are_one_user_and_with_two_secrets_two(broker: FakeBroker) -> None:
    found = []
    for secret in (SECRET, SECRET, bytes(32)):
        ledger = PrivacyLedger.in_memory(secret=secret, terms=Terms(budget=math.inf, linked=True))
        async with reporter(LINKED, secret=secret, ledger=ledger, clock=lambda: 0) as device:
            await device.report(RECORD)
        found.append(broker.decoded(LINKED).rows[0][-1, :8].tobytes())
    assert found[0] == found[1] != found[2]


async def test_reports_with_fresh_noise_have_nothing_that_links_them(broker: FakeBroker) -> None:
    sent = await pseudonyms_sent(broker, linked_ledger(assumption=Assumption.FRESH), 0, 0, 0)
    assert len(set(sent)) == 3


async def test_users_without_a_secret_have_a_pseudonym_for_one_report(broker: FakeBroker) -> None:
    async with reporter(LINKED) as sender:
        await sender.report_many(users(50), secrets=None)
    assert len({row[:8].tobytes() for row in broker.decoded(LINKED).rows[0]}) == 50


async def test_a_user_who_has_not_agreed_to_linking_is_not_linked(broker: FakeBroker) -> None:
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=math.inf))
    with pytest.raises(LinkingRefused, match=r"'care-survey' links .* has not agreed to that: nothing was sent"):
        await pseudonyms_sent(broker, ledger, 0)
    assert ledger.spending.epsilon == 0
    assert not broker.sent
    with pytest.raises(LooserTerms, match="a pseudonym links"):
        ledger.agree(Terms(budget=math.inf, linked=True))
    ledger.agree(Terms(budget=math.inf, linked=True), change_terms=True)
    assert len(await pseudonyms_sent(broker, ledger, 0)) == 1
    ledger.agree(Terms(budget=math.inf))
    with pytest.raises(LinkingRefused):
        await pseudonyms_sent(broker, ledger, 0)


async def test_a_reporter_and_a_subscriber_serve_a_kind_that_the_package_does_not_have(coins: Coins) -> None:
    """Of 10,000 seeded tosses, the share is 0.03 off, three standard deviations, for one seed in 300."""
    tosses = [{"side": "heads"}] * 7_000 + [{"side": "tails"}] * 3_000
    with kafka_in_memory(coins, now_ms=START_MS) as kafka:
        async with Reporter(coins, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)) as sender:
            assert await sender.report_many(tosses, secrets=None) == 10_000
        kafka.close_windows()
        async with Subscriber("coins", settings=kafka.settings, from_beginning=True, follow=False) as shares:
            (share,) = [each async for each in shares]
    assert isinstance(share, Share)
    assert abs(share.share - 0.7) < 0.03


def connected(other: AbstractAsyncContextManager[None]) -> Reporter:
    """A reporter that opens and closes another connection, too."""
    made = Reporter(collection_of(), settings=Settings.load(brokers="nowhere:1"), delivery_timeout=1.0)
    made._also = [other]
    return made


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("survey.yaml", "Reporter: give a collection, as load_collection .*, not a str"),
        ({"bathing": "no"}, "Reporter: give a collection, as load_collection .*, not a dict"),
    ],
)
def test_a_reporter_says_what_it_takes_in_place_of_a_path_or_a_record(given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Reporter(given, settings=Settings())


def test_a_reporter_to_rounds_needs_a_ledger() -> None:
    with pytest.raises(ValueError, match=r"films asks in rounds, and only a ledger remembers"):
        Reporter(films(), settings=Settings(), secret=bytes(32))


async def test_if_another_connection_cannot_be_opened_the_producer_is_closed(broker: FakeBroker) -> None:
    @asynccontextmanager
    async def closed() -> AsyncIterator[None]:
        raise ConnectionError
        yield

    with pytest.raises(ConnectionError):
        await connected(closed()).__aenter__()
    assert broker.stopped == ["producer"]


async def test_if_another_connection_fails_as_it_closes_the_producer_is_closed_too(broker: FakeBroker) -> None:
    @asynccontextmanager
    async def brittle() -> AsyncIterator[None]:
        yield
        assert broker.stopped == [], "what was opened last is closed first"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        async with connected(brittle()):
            pass
    assert broker.stopped == ["producer"]


async def test_a_user_without_a_kept_ledger_is_warned_of_a_budget_that_begins_anew(
    broker: FakeBroker, own_log: pytest.LogCaptureFixture
) -> None:
    def of_a_user(**options: Any) -> str:
        own_log.clear()
        Reporter(PERMANENT_ONLY, settings=Settings(), secret=bytes(32), **options)
        return own_log.text

    assert "begins with a new budget of 4 nats: give `ledger`" in of_a_user()
    assert of_a_user(ledger=PrivacyLedger.in_memory(secret=bytes(32))) == ""
    assert of_a_user(entropy=SeededEntropy(7)) == ""


async def test_untracked_budgets_are_warned_about_once_unless_users_are_simulated(
    broker: FakeBroker, own_log: pytest.LogCaptureFixture
) -> None:
    async with reporter() as sender:
        for _ in range(3):
            await sender.report_many(users(2), secrets=None)
    assert [record.levelname for record in own_log.records] == ["WARNING"]
    assert "privacy budgets are not tracked" in own_log.text
    own_log.clear()
    async with reporter(entropy=OSEntropy()) as sender:
        await sender.report_many(users(2), secrets=None)
    assert own_log.text == ""
