"""Tests of what applications test with."""

import ast
import inspect
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stream_ldp.testing
from stream_ldp import (
    DataError,
    Estimate,
    JointCollection,
    Reporter,
    Subscriber,
    SyntheticChunk,
    WrongCollection,
    query,
)
from stream_ldp.collection.synthesis import SynthesisSpec
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of
from tests.client.rankings import films
from tests.in_memory import START_MS, rank_films, report
from tests.marginals.examples import collection_of as sampled_collection
from tests.marginals.examples import users


async def test_reports_are_answered_when_the_windows_close() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 2_000)
        assert kafka.reports("care-survey") == 2_000
        answers = kafka.close_windows()
        assert [(each.series, each.reports) for each in answers] == [("bathing-mobility", 2_000), ("mobility", 2_000)]
        written = [each.to_bytes() for each in answers]
        assert [each.to_bytes() for each in query("care-survey", settings=kafka.settings)] == written
        async with Subscriber("care-survey", settings=kafka.settings, from_beginning=True, follow=False) as estimates:
            assert [each.to_bytes() async for each in estimates] == written
        assert kafka.clock() >= START_MS + 65_000
        assert kafka.close_windows() == []


async def test_records_are_published_with_the_finals_of_a_collection_that_asks_for_them() -> None:
    survey = collection_of().model_copy(update={"synthesis": SynthesisSpec(records=40, seed=9)})
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        for seed in (1, 2):
            await report(kafka, survey, 500, seed=seed)
            kafka.close_windows()
        records = Subscriber(
            "care-survey", SyntheticChunk, settings=kafka.settings, from_beginning=True, follow=False
        )
        async with records as chunks:
            first, second = [chunk async for chunk in chunks]
        estimates = list(query("care-survey", settings=kafka.settings, last=None))
    assert [each.window for each in (first, second)] == sorted(
        {each.window for each in estimates}, key=lambda each: each.start_ms
    )
    assert (first.reports, len(first.columns()["mobility"])) == (500, 40)
    assert set(first.columns()["mobility"]) <= {"none", "some", "full"}
    (privacy,) = {each.privacy for each in estimates if isinstance(each, Estimate) and each.window == first.window}
    assert first.privacy == privacy
    assert first.records != second.records


async def test_windows_follow_each_other_and_late_reports_are_refused() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        late = kafka.batches("care-survey")[0]
        first = kafka.close_windows()
        await report(kafka, survey, 700, seed=2)
        kafka.broker.put(kafka.settings.topic_names.reports("care-survey"), late)
        second = kafka.close_windows()
    assert [each.reports for each in first + second] == [500, 500, 700, 700]
    assert second[0].window.start_ms > first[0].window.start_ms
    assert second[0].temporal.users >= 0
    assert [each.reason for each in kafka.refused] == [Reason.LATE]


async def test_a_window_of_silence_is_said_once() -> None:
    survey = collection_of()
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        await report(kafka, survey, 500)
        kafka.close_windows()
        kafka.advance(120)
        await report(kafka, survey, 500, seed=2)
        statuses = [each.status for each in kafka.close_windows() if each.series == "mobility"]
    assert statuses == [Status.NO_REPORTS, Status.ANSWERED] or statuses == [
        Status.NO_REPORTS,
        Status.NO_REPORTS,
        Status.ANSWERED,
    ]


async def test_a_dataframe_is_reported_as_it_is() -> None:
    people = JointCollection.parse(
        """
collection: people
mechanism: {kind: k-rr, epsilon: 8}
attributes:
  - {name: diet, values: [meat, fish], missing: unknown}
  - {name: age, bins: [0, 18, 65]}
window: {size: 60s}
estimates: [{name: all, of: [diet, age]}]
"""
    )
    frame = pd.DataFrame({"diet": ["fish", None] * 500, "age": [3.5, 64] * 500, "id": range(1_000)})
    with kafka_in_memory(people, now_ms=START_MS) as kafka:
        async with Reporter(people, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)) as reporter:
            assert await reporter.report_many(frame, secrets=None) == 1_000
            with pytest.raises(DataError, match="row 2: attribute 'age': the value is missing"):
                await reporter.report_many([{"diet": "fish", "age": 3}, {"diet": "fish", "age": None}], secrets=None)
        (estimate,) = kafka.close_windows()
    assert estimate.reports == 1_000
    # At epsilon 8 next to nobody names another value: each cell is within 0.05 but for less than one seed in 10^9.
    assert np.abs(estimate.joint() - np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])).max() < 0.05


async def test_sampled_collections_are_answered() -> None:
    collection = sampled_collection()
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        async with Reporter(
            collection, settings=kafka.settings, clock=kafka.clock, entropy=SeededEntropy(1)
        ) as reporter:
            await reporter.report_many(users(3_000), secrets=None)
        kafka.close_windows()
        async with Subscriber("diets", settings=kafka.settings, from_beginning=True, follow=False) as marginals:
            assert [each.reports async for each in marginals] == [3_000]


async def test_the_phases_of_an_epoch_follow_each_other() -> None:
    with kafka_in_memory(films(), now_ms=START_MS) as kafka:
        first, result = rank_films(kafka)
        assert (first.complete, result.complete) == (False, True)
        assert result.reports_per_phase == (2_000, 2_000)
        assert {each.item for each in result.items} == {"Alien", "Brazil"}
        async with Subscriber("films", settings=kafka.settings, from_beginning=True, follow=False) as rankings:
            assert [each.to_bytes() async for each in rankings] == [first.to_bytes(), result.to_bytes()]
    assert kafka.refused == []


async def test_users_of_many_answer_each_phase_once_the_one_before_has_closed() -> None:
    collection = films()
    held = [["Alien"], ["Brazil"], ["Alien", "Brazil"]] * 1_000
    with kafka_in_memory(collection, now_ms=START_MS) as kafka:
        settings, entropy = kafka.settings, SeededEntropy(1)
        # Many batches: time stands still until all of them are there.
        async with Reporter(
            collection, settings=settings, clock=kafka.clock, entropy=entropy, max_reports=100
        ) as reporter:
            assert await reporter.report_many(held, secrets=None) == 6_000
        first, result = kafka.close_windows()
        assert kafka.close_windows() == []
    assert (first.phase, result.phase, result.complete) == (1, 2, True)
    assert result.reports_per_phase == (3_000, 3_000)


async def test_another_collection_of_the_same_name_is_refused() -> None:
    other = collection_of(mechanism="{kind: k-rr, epsilon: 2}")
    with kafka_in_memory(collection_of()) as kafka, pytest.raises(WrongCollection):
        await report(kafka, other, 1)


async def test_the_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getdoc(stream_ldp.testing) or ""
    code = textwrap.dedent(text[text.index("    from stream_ldp import") :])
    (tmp_path / "survey.yaml").write_text(
        "collection: care-survey\nmechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}\n"
        "attributes:\n  - {name: bathing, values: [no, yes]}\n  - {name: mobility, values: [none, some, full]}\n"
        "window: {size: 10s}\nestimates:\n  - {name: bathing-mobility, of: [bathing, mobility]}\n"
    )
    monkeypatch.chdir(tmp_path)
    (test,) = [node.name for node in ast.parse(code).body if isinstance(node, ast.AsyncFunctionDef)]
    names: dict[str, object] = {}
    exec(code, names)
    await names[test]()  # type: ignore[operator]


async def test_reports_of_returning_users_are_linked_from_the_client_to_the_final() -> None:
    survey = JointCollection.model_validate(collection_of().document | {"linked": 10 * 60_000})
    secrets, table = [bytes([user]) * 32 for user in range(200)], np.zeros((200, 2), dtype=np.int64)
    with kafka_in_memory(survey, now_ms=START_MS - START_MS % (10 * 60_000)) as kafka:
        found = []
        for returning in (200, 50):
            async with Reporter(survey, settings=kafka.settings, clock=kafka.clock) as reporter:
                await reporter.report_many(table[:returning], secrets=secrets[:returning])
            found += [each.linked for each in kafka.close_windows() if each.series == "mobility"]
    first, second = found
    assert (first.users, first.reports, first.returning) == (200, 200, None)
    assert (second.users, second.reports, second.returning) == (50, 100, 1.0)


@pytest.mark.parametrize("again", [{"linked": "10m"}, {"window": {"size": "60s", "reports_per_user": 10.0}}])
async def test_many_reports_of_few_users_are_not_published_as_those_of_many(again: dict[str, object]) -> None:
    survey = JointCollection.model_validate(collection_of().document | {"min_reports": 5, **again})
    with kafka_in_memory(survey, now_ms=START_MS) as kafka:
        for users, published in ((4, False), (5, True)):
            table, secrets = np.zeros((10 * users, 2), dtype=np.int64), [bytes([user]) * 32 for user in range(users)]
            async with Reporter(survey, settings=kafka.settings, clock=kafka.clock) as reporter:
                await reporter.report_many(table, secrets=secrets * 10)
            assert {each.reports for each in kafka.close_windows()} == ({10 * users} if published else set())
