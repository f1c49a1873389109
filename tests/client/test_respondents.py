"""Tests of many users' reports: everybody who is asked reports once, in time, and nobody in two disjoint phases."""

import asyncio
import math
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiokafka.errors import MessageSizeTooLargeError, TopicAuthorizationFailedError

from stream_ldp.client.errors import DeliveryError, MissingTopic
from stream_ldp.client.reporter import Reporter
from stream_ldp.client.respondents import Respondents
from stream_ldp.kafka.settings import Settings
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.wire import HEADER_BYTES
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.rounds import Round, RoundRefused
from tests.client.examples import MINUTE_MS, collection_of
from tests.client.fakes import FakeBroker
from tests.client.items import (
    EPOCH,
    NOISELESS,
    FakeRoundsConsumer,
    LoopTimeline,
    Timeline,
    film_round,
    films,
    minutes,
    reports_sent,
)
from tests.client.virtual_time import run_in_virtual_time

SETTINGS = Settings.load(brokers="nowhere:1")
CLEAR = films(mechanism=NOISELESS)
USERS = 2_000


def sets(users: int = USERS) -> ItemSets:
    """Make sets of two items, so that both slots are taken: film u mod 4, and the one four later."""
    return ItemSets.of([user % 4, user % 4 + 4] for user in range(users))


def reporter(timeline: Timeline, **options: Any) -> Reporter:
    collection = options.pop("collection", CLEAR)
    return Reporter(collection, settings=SETTINGS, clock=timeline, **({"entropy": SeededEntropy(1)} | options))


@asynccontextmanager
async def population(
    timeline: LoopTimeline, *, held: ItemSets | None = None, secrets: list[bytes] | None = None, **options: Any
) -> AsyncIterator[Respondents]:
    """Open a reporter for many users."""
    async with reporter(timeline, **options) as opened:
        yield opened.respondents(sets() if held is None else held, secrets=secrets)


def clear_round(phase: int, **options: Any) -> Round:
    return film_round(phase, collection=CLEAR, **options)


def publish_epochs(timeline: LoopTimeline, *epochs: int, **options: Any) -> list[Round]:
    """Return all rounds of some epochs, and publish the later ones ten seconds after their windows have begun."""
    rounds = [clear_round(phase, epoch=epoch, **options) for epoch in epochs for phase in (1, 2, 3)]
    for asked in rounds:
        if asked.phase > 1:
            timeline.publish(asked, at_ms=asked.start_ms + 10_000)
    return rounds


def play(work: Coroutine[Any, Any, None]) -> None:
    run_in_virtual_time(work)


def test_every_user_reports_in_exactly_the_phases_that_ask_them(
    broker: FakeBroker, loop_timeline: LoopTimeline
) -> None:
    rounds = publish_epochs(loop_timeline, EPOCH, EPOCH + 1, candidates=range(8))
    phases: list[tuple[Round, int]] = []

    async def scenario() -> None:
        async with reporter(loop_timeline) as users:
            count = await users.report_many(
                sets(), secrets=None, epochs=2, on_round=lambda asked, reports: phases.append((asked, reports))
            )
        assert loop_timeline() == minutes(6), "it ends with the last window"
        assert count == users.acknowledged == 2 * 2 * USERS

    play(scenario())
    sent = reports_sent(broker, *rounds, collection=CLEAR)
    # First phases have one fingerprint in all epochs.
    assert sent[0].total == sent[3].total == 2 * USERS
    for second, third in ((1, 2), (4, 5)):
        assert sent[second].total + sent[third].total == USERS
        # Seeded; else standard deviation 22.
        assert abs(sent[second].total - USERS / 2) < 110
    assert phases == [(asked, USERS if asked.phase == 1 else sent[i].total) for i, asked in enumerate(rounds)]


def test_a_report_is_about_an_item_of_its_users_set(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    held = ItemSets.of([[3, 5]] * 1_000)

    async def scenario() -> None:
        async with population(loop_timeline, held=held, spread=False) as users:
            assert await users.answer(clear_round(1)) == 1_000

    play(scenario())
    (sent,) = reports_sent(broker, clear_round(1), collection=CLEAR)
    assert sent.supports.sum() == 1_000
    assert sent.supports[[3, 5]].sum() >= 999
    assert abs(sent.supports[3] - 500) < 100, "seeded; else 6 standard deviations"


def test_the_user_partition_holds_for_an_epoch_and_is_drawn_anew_in_the_next(
    broker: FakeBroker, loop_timeline: LoopTimeline
) -> None:
    # Each of 8 users is known by the one film they hold.
    held = ItemSets.of([user] for user in range(8))

    async def reporting(users: Respondents, asked: Round) -> frozenset[int]:
        broker.sent.clear()
        await users.answer(asked)
        (sent,) = reports_sent(broker, asked, collection=CLEAR)
        return frozenset(np.flatnonzero(sent.supports))

    async def scenario() -> None:
        async with population(loop_timeline, held=held, spread=False) as users:
            halves = []
            for epoch in range(EPOCH, EPOCH + 20):
                loop_timeline.now_ms = minutes(3 * (epoch - EPOCH) + 1)
                second = await reporting(users, clear_round(2, epoch=epoch, candidates=range(8)))
                loop_timeline.now_ms += MINUTE_MS
                third = await reporting(users, clear_round(3, epoch=epoch, candidates=range(8)))
                assert second | third == set(range(8))
                assert not second & third
                halves.append(second)
            assert len(set(halves)) > 10

    play(scenario())


@pytest.mark.parametrize("secrets", [None, [user.to_bytes(32, "big") for user in range(200)]])
def test_users_whose_reports_are_memoised_show_one_row_each_in_all_epochs(
    broker: FakeBroker, loop_timeline: LoopTimeline, secrets: list[bytes] | None
) -> None:
    collection = films(mechanism="{kind: loloha, epsilon: 15, lifetime: 20, k: 2, set_size: 2}")

    async def scenario() -> None:
        options: dict[str, Any] = {"collection": collection, "held": sets(200), "secrets": secrets, "spread": False}
        async with population(loop_timeline, **options) as users:
            for epoch in (EPOCH * 3, EPOCH * 3 + 1):
                loop_timeline.now_ms = collection.schedule.window_of(epoch, 1)
                assert await users.answer(Round.first(collection, epoch=epoch)) == 200

    play(scenario())
    first, second = (sorted(arguments["value"][HEADER_BYTES:]) for _, arguments in broker.sent)
    # With hardly any fresh noise, the reports of all users are the same in both epochs, in another order.
    assert len(set(first)) > 4
    assert first == second


def test_users_with_secrets_keep_their_place_in_the_user_partition_after_a_restart(
    broker: FakeBroker, loop_timeline: LoopTimeline
) -> None:
    secrets = [user.to_bytes(32, "big") for user in range(USERS)]
    loop_timeline.now_ms = minutes(1)

    async def scenario() -> None:
        totals = []
        for seed in range(2):
            entropy = SeededEntropy(seed)
            async with population(loop_timeline, secrets=secrets, entropy=entropy, spread=False) as users:
                totals.append(await users.answer(clear_round(2)))
        assert totals[0] == totals[1]

    play(scenario())


def test_each_user_needs_a_secret_of_their_own(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    async def scenario() -> None:
        with pytest.raises(ValueError, match=r"2000 records with 1 secrets"):
            async with population(loop_timeline, secrets=[bytes(32)]):
                pytest.fail("they were taken")

    play(scenario())


async def test_epochs_and_rounds_are_for_collections_that_ask_in_rounds(broker: FakeBroker) -> None:
    survey = collection_of()
    async with Reporter(survey, settings=SETTINGS) as records:
        with pytest.raises(ValueError, match=r"does not ask in rounds, so it has no epochs"):
            await records.report_many([], secrets=None, epochs=2)
        with pytest.raises(ValueError, match=r"does not ask in rounds: use report_many"):
            records.respondents([], secrets=None)


async def test_ledgers_count_each_round_once_and_name_the_users_who_refuse(
    broker: FakeBroker, timeline: Timeline
) -> None:
    secrets = [user.to_bytes(32, "big") for user in range(3)]
    budgets = (math.inf, 2.0, math.inf)
    ledgers = [
        PrivacyLedger.in_memory(secret=secret, terms=Terms(budget=budget))
        for secret, budget in zip(secrets, budgets, strict=True)
    ]
    noisy = films()
    refused: list[tuple[int, str]] = []

    async with reporter(timeline, collection=noisy, spread=False) as opened:
        users = opened.respondents(
            [{"Alien"}, {"Brazil"}, set()],
            secrets=secrets,
            ledgers=ledgers,
            on_refused=lambda user, why: refused.append((user, type(why).__name__)),
        )
        first = film_round(1)
        assert await users.answer(first) == 3
        assert await users.answer(first) == 0
        timeline.now_ms = minutes(3)
        assert await users.answer(film_round(1, epoch=EPOCH + 1)) == 2

    assert refused == [(user, "AlreadyReported") for user in range(3)] + [(1, "BudgetExceeded")]
    assert [ledger.spending.epsilon for ledger in ledgers] == [2.4, 1.2, 2.4]
    assert sum(each.total for each in reports_sent(broker, film_round(1))) == 5


def test_reports_are_spread_evenly_over_the_rest_of_the_window(
    broker: FakeBroker, loop_timeline: LoopTimeline
) -> None:
    loop_timeline.now_ms = minutes(0.25)

    async def scenario() -> None:
        async with population(loop_timeline, max_reports=20) as users:
            assert await users.answer(clear_round(1)) == USERS

    play(scenario())
    (sent,) = reports_sent(broker, clear_round(1), collection=CLEAR)
    assert sent.counts == [20] * 100
    assert minutes(0.25) == sent.times_ms[0]
    assert minutes(0.95) < sent.times_ms[-1] < minutes(1) - 1_000, "a batch may be half a second late"
    gaps = np.diff(sent.times_ms)
    assert gaps.min() >= gaps.max() - 1, "in milliseconds"


def test_a_users_place_does_not_tell_when_they_report(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    held = ItemSets.of([[0, 4]] * 500 + [[1, 5]] * 500)

    async def scenario() -> None:
        async with population(loop_timeline, held=held, max_reports=100) as users:
            await users.answer(clear_round(1))

    play(scenario())
    del broker.sent[1:]
    (sent,) = reports_sent(broker, clear_round(1), collection=CLEAR)
    # Seeded; else standard deviation 5.
    assert abs(sent.supports[[0, 4]].sum() - 50) < 25


def test_a_closed_round_gets_no_reports(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    loop_timeline.now_ms = minutes(1)

    async def scenario() -> None:
        async with population(loop_timeline) as users:
            assert await users.answer(clear_round(1)) == 0

    play(scenario())
    assert broker.sent == []


@pytest.mark.parametrize(("minute", "first"), [(0.4, 0), (0.6, 1), (1.5, 1), (2.9, 1)])
def test_an_epoch_is_begun_only_in_the_first_half_of_its_first_window(
    broker: FakeBroker, loop_timeline: LoopTimeline, minute: float, first: int
) -> None:
    loop_timeline.now_ms = minutes(minute)
    begun: list[int] = []

    async def scenario() -> None:
        async with population(loop_timeline) as users:
            await users.run(epochs=2, on_round=lambda asked, _: begun.append(asked.epoch - EPOCH))

    play(scenario())
    assert begun == [first, first + 1]


def test_epochs_that_overlap_do_not_wait_for_each_other(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    pipelined = films(mechanism=NOISELESS, epochs="pipelined")
    first = 3 * EPOCH
    rounds = [
        film_round(phase, epoch=epoch, collection=pipelined) for epoch in (first, first + 1) for phase in (1, 2, 3)
    ]
    for asked in rounds:
        if asked.phase > 1:
            loop_timeline.publish(asked, at_ms=asked.start_ms + 10_000)

    async def scenario() -> None:
        async with population(loop_timeline, collection=pipelined, max_reports=50) as users:
            assert await users.run(epochs=2) == 4 * USERS
        assert loop_timeline() == minutes(4)

    play(scenario())
    totals = [each.total for each in reports_sent(broker, *rounds, collection=pipelined)]
    assert totals[1] + totals[2] == totals[4] + totals[5] == USERS


def test_a_repeated_round_gets_no_further_reports(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    for seconds in (5, 10, 30):
        loop_timeline.publish(clear_round(2), at_ms=minutes(1) + 1_000 * seconds)

    async def scenario() -> None:
        async with population(loop_timeline) as users:
            await users.run(epochs=1)

    play(scenario())
    assert reports_sent(broker, clear_round(1), clear_round(2), collection=CLEAR)[1].total < USERS


def test_a_seed_repeats_the_reports_but_not_the_batch_ids(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    noisy, runs = films(), []
    for seed in (1, 1, 2):
        broker.sent.clear()

        async def scenario(seed: int = seed) -> None:
            async with population(loop_timeline, collection=noisy, entropy=SeededEntropy(seed)) as users:
                await users.answer(film_round(1))

        play(scenario())
        ids = {arguments["key"] for _, arguments in broker.sent}
        runs.append((reports_sent(broker, film_round(1))[0].supports.tolist(), ids))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert not runs[0][1] & runs[1][1]


def test_a_forged_round_is_refused(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    async def scenario() -> None:
        async with population(loop_timeline) as users:
            with pytest.raises(RoundRefused, match=r"allows"):
                await users.answer(clear_round(1).model_copy(update={"epsilon": 99.0}))

    play(scenario())
    assert broker.sent == []


def test_lost_reports_raise_an_error(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        async with population(loop_timeline) as users:
            await users.run(epochs=1)

    with pytest.raises(DeliveryError, match=r"reports to topic stream-ldp\.films\.reports were not acknowledged"):
        play(scenario())
    assert broker.stopped == ["sender", "client"]


def test_after_a_loss_no_more_reports_are_made(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    broker.error = MessageSizeTooLargeError()

    async def scenario() -> None:
        opened = reporter(loop_timeline, max_reports=100)
        await opened.__aenter__()
        users = opened.respondents(sets(), secrets=None)
        for _ in range(2):
            with pytest.raises(DeliveryError, match=r"^100 reports"):
                await users.answer(clear_round(1))
        with pytest.raises(DeliveryError, match=r"^100 reports"):
            await opened.__aexit__(None, None, None)

    play(scenario())
    assert len(broker.sent) == 1


def test_the_end_of_the_block_waits_for_reports_in_flight(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    async def scenario() -> None:
        broker.holding = True
        async with reporter(loop_timeline, max_reports=100) as opened:
            users = opened.respondents(sets(), secrets=None)
            reporting = asyncio.create_task(users.answer(clear_round(1)))
            await asyncio.sleep(20)
            reporting.cancel()
            asyncio.get_running_loop().call_later(5, broker.release)
        assert opened.acknowledged == 100 * len(broker.sent) > 0

    play(scenario())


def test_an_error_in_fetching_rounds_is_raised(
    broker: FakeBroker, loop_timeline: LoopTimeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise TopicAuthorizationFailedError

    monkeypatch.setattr(FakeRoundsConsumer, "getmany", failing)

    async def scenario() -> None:
        async with population(loop_timeline) as users:
            await users.run(epochs=1)

    with pytest.raises(TopicAuthorizationFailedError):
        play(scenario())


def test_a_missing_topic_raises_an_error_at_once(broker: FakeBroker, loop_timeline: LoopTimeline) -> None:
    broker.topics.remove("stream-ldp.films.rounds")

    async def scenario() -> None:
        async with reporter(loop_timeline) as opened:
            await opened.report_many(sets(), secrets=None)

    with pytest.raises(MissingTopic, match=r"films\.rounds does not exist"):
        play(scenario())
    assert broker.stopped[-1] == "producer"
