"""Tests of windows that are answered again from the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stream_ldp import Reporter
from stream_ldp.errors import ParameterError
from stream_ldp.kafka.memory import MemoryConsumer
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.records.answer import Estimate
from stream_ldp.service.replay import NotReplayed, ad_hoc, compare
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.client.examples import collection_of
from tests.client.rankings import films
from tests.in_memory import START_MS, rank_films, report
from tests.marginals.examples import collection_of as sampled_collection
from tests.marginals.examples import users
from tests.views.examples import collection_of as views_collection
from tests.views.examples import users as view_users


async def test_a_window_that_is_computed_again_equals_the_published_one() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        for seed in (1, 2):
            await report(kafka, survey, 900 + seed, seed=seed)
            first = kafka.close_windows()
        found = await compare(survey, settings=kafka.settings)
    assert [each.published for each in found] == first
    assert [each.differences for each in found] == [(), ()]
    assert [each.recomputed.to_bytes() for each in found] == [each.to_bytes() for each in first]
    assert first[0].temporal is not None


@pytest.mark.parametrize("named", [None, -1, 0, 1, 2**31])
async def test_an_offset_that_a_client_wrote_into_a_record_hides_no_report(
    named: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is asked for the first record of a time names the offset in it, or none if that is too large."""
    survey = collection_of()

    async def anywhere(_: MemoryConsumer, times: dict[Any, int]) -> dict[Any, Any]:
        return dict.fromkeys(times, None if named is None else SimpleNamespace(offset=named))

    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        kafka.close_windows()
        monkeypatch.setattr(MemoryConsumer, "offsets_for_times", anywhere)
        found = await compare(survey, settings=kafka.settings)
    assert [each.differences for each in found] == [(), ()]


@pytest.mark.parametrize("window", ["grace: 5s, hop: 20s", "grace: 5s, memory: 0.5"])
async def test_sliding_and_remembered_windows_are_equal_as_well(window: str) -> None:
    survey = collection_of(window=window)
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        for seed in range(3):
            await report(kafka, survey, 300 + seed, seed=seed)
            kafka.advance(20)
        finals = kafka.close_windows()
        for final in finals[:2]:
            found = await compare(survey, settings=kafka.settings, window_ms=final.window.start_ms)
            assert [each.differences for each in found] == [(), ()]


async def test_what_was_refused_as_late_is_not_counted_now() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        first, *_ = kafka.close_windows()
        now = kafka.clock()
        kafka.broker.now_ms = START_MS
        await report(kafka, survey, 300, seed=2)
        kafka.broker.now_ms = now
        kafka.close_windows()
        assert [each.reason.value for each in kafka.refused] == ["late"]
        found = await compare(survey, settings=kafka.settings, window_ms=first.window.start_ms)
    assert [each.recomputed.reports for each in found] == [500, 500]
    assert not any(each.differences for each in found)


async def test_each_phase_of_an_epoch_is_equal() -> None:
    with kafka_in_memory(films(), now_ms=START_MS) as kafka:
        for ranking in rank_films(kafka):
            (found,) = await compare(films(), settings=kafka.settings, window_ms=ranking.window.start_ms)
            assert found.published == ranking
            assert found.differences == ()


async def test_sampled_collections_are_equal() -> None:
    collection = sampled_collection()
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        async with Reporter(
            collection, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)
        ) as reporter:
            await reporter.report_many(users(2_000), secrets=None)
        kafka.close_windows()
        (found,) = await compare(collection, settings=kafka.settings)
        with pytest.raises(
            ParameterError, match="only collections of records and views have estimates of other attributes"
        ):
            await ad_hoc(collection, settings=kafka.settings, of=["diet"])
    assert found.differences == ()


async def test_an_answer_that_somebody_else_wrote_differs() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        topic = kafka.settings.topic_names.answers(survey)
        wrong, _ = kafka.close_windows()
        with kafka_in_memory(survey, now_ms=START_MS) as other:
            await report(other, survey, 500)
            forged = wrong.model_copy(update={"reports": 501})
            other.broker.put(topic, forged.to_bytes(), key=forged.key, headers=forged.headers)
            (found,) = await compare(survey, settings=other.settings)
    assert found.differences == ("reports: published 501, recomputed 500",)


async def test_other_attributes_are_estimated_from_the_same_reports() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 6_000)
        kafka.close_windows()
        estimate = await ad_hoc(survey, settings=kafka.settings, of=["mobility", "bathing"], method="em")
        with pytest.raises(ParameterError, match="did you mean 'bathing'"):
            await ad_hoc(survey, settings=kafka.settings, of=["bath"])
        with pytest.raises(ParameterError, match="expected 'em'"):
            await ad_hoc(survey, settings=kafka.settings, of=["bathing"], method="guess")
        with pytest.raises(ParameterError, match="multiples of 60 s"):
            await ad_hoc(survey, settings=kafka.settings, of=["bathing"], window_ms=START_MS + 1)
    assert isinstance(estimate, Estimate)
    assert (estimate.series, estimate.shape, estimate.reports) == ("ad-hoc", (3, 2), 6_000)
    assert estimate.fit.method == "em"
    # Five standard errors: in one of a million runs a right cell is further off, and the seed is fixed.
    assert (np.abs(estimate.joint() - 1 / 6) <= 5 * estimate.standard_errors()).all()


async def test_views_are_compared_and_asked_about_other_attributes() -> None:
    collection = views_collection()
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        async with Reporter(
            collection, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)
        ) as reporter:
            await reporter.report_many(view_users(collection_size := 3_000), secrets=None)
        kafka.close_windows()
        assert not any(each.differences for each in await compare(collection, settings=kafka.settings))
        of = [collection.attributes[0].name]
        estimate = await ad_hoc(collection, settings=kafka.settings, of=of)
        with pytest.raises(ParameterError, match="fitted in one way"):
            await ad_hoc(collection, settings=kafka.settings, of=of, method="em")
    assert (estimate.series, estimate.reports) == ("ad-hoc", collection_size)
    assert [axis.attribute for axis in estimate.axes] == of


def _nothing(kafka: KafkaInMemory) -> None: ...


def _only_an_older_batch(kafka: KafkaInMemory) -> None:
    kafka.broker.beginnings[kafka.settings.topic_names.reports("care-survey")] = 1


def _all(kafka: KafkaInMemory) -> None:
    topic = kafka.settings.topic_names.reports("care-survey")
    kafka.broker.beginnings[topic] = len(kafka.batches("care-survey"))


@pytest.mark.parametrize(("deleted", "held"), [(_nothing, True), (_only_an_older_batch, False), (_all, False)])
async def test_a_window_whose_reports_are_gone_is_not_compared(
    deleted: Callable[[KafkaInMemory], None], held: bool
) -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 2_500)
        kafka.close_windows()
        deleted(kafka)
        attempts: list[Callable[[], Awaitable[object]]] = [
            lambda: compare(survey, settings=kafka.settings),
            lambda: ad_hoc(survey, settings=kafka.settings, of=["bathing"]),
        ]
        for attempt in attempts:
            if held:
                await attempt()
                continue
            with pytest.raises(NotReplayed, match="the log no longer holds the window: its first"):
                await attempt()


async def test_a_later_window_is_compared_although_earlier_reports_are_gone() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        kafka.close_windows()
        kafka.advance(600)
        await report(kafka, survey, 500, seed=2)
        kafka.advance(600)
        await report(kafka, survey, 500, seed=3)
        kafka.close_windows()
        _only_an_older_batch(kafka)
        found = await compare(survey, settings=kafka.settings, series=["mobility"])
    assert [each.differences for each in found] == [()]


async def test_an_equal_answer_shows_that_what_is_deleted_was_not_of_the_window() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        kafka.close_windows()
        await report(kafka, survey, 600, seed=2)
        kafka.close_windows()
        _only_an_older_batch(kafka)
        first, second = kafka.broker.available(kafka.settings.topic_names.reports("care-survey"))
        assert second.at_ms - first.at_ms < 120_000, "the first record left is of the window itself"
        found = await compare(survey, settings=kafka.settings)
        assert [each.differences for each in found] == [(), ()]
        assert (await ad_hoc(survey, settings=kafka.settings, of=["bathing"])).reports == 600


async def test_what_is_not_published_or_not_known_is_said() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        with pytest.raises(NotReplayed, match="no final answer of any window"):
            await compare(survey, settings=kafka.settings)
        with pytest.raises(NotReplayed, match="say which window is meant"):
            await ad_hoc(survey, settings=kafka.settings, of=["bathing"])
        await report(kafka, survey, 50)
        kafka.close_windows()
        with pytest.raises(NotReplayed, match="no final answer of this window"):
            await compare(survey, settings=kafka.settings, window_ms=START_MS - 60_000)
        renamed = survey.model_copy(update={"estimates": survey.estimates[:1]})
        with pytest.raises(NotReplayed, match="its file has no estimate 'mobility'"):
            await compare(renamed, settings=kafka.settings)
        shy = survey.model_copy(update={"min_reports": 51})
        with pytest.raises(NotReplayed, match="so few users"):
            await ad_hoc(shy, settings=kafka.settings, of=["bathing"])
        often = survey.model_copy(
            update={"min_reports": 50, "window": survey.window.model_copy(update={"reports_per_user": 2.0})}
        )
        with pytest.raises(NotReplayed, match="so few users"):
            await ad_hoc(often, settings=kafka.settings, of=["bathing"])
    with (
        kafka_in_memory() as kafka,
        pytest.raises(NotReplayed, match=r"estimates does not exist.*\n.* create it: stream-ldp topics create"),
    ):
        await compare(survey, settings=kafka.settings)
