"""Tests of the declared topics, and of how a topic that is set up differently is judged."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp import kinds
from stream_ldp.collection.collection import DAY_MS
from stream_ldp.collection.synthesis import SynthesisSpec
from stream_ldp.kafka.topics import (
    OUTAGE_MS,
    ROOM_BYTES,
    SEGMENT_MS,
    ExistingTopic,
    TopicNames,
    TopicSpec,
    topic_specs,
)
from stream_ldp.records.collection import JointCollection
from tests.kafka.names import collections, is_collection, is_prefix, prefixes


def _collection(name: str = "care", **window: Any) -> JointCollection:
    return JointCollection.model_validate(
        {
            "collection": name,
            "mechanism": {"kind": "rr-ldp", "f": 0.5},
            "attributes": [{"name": "bathing", "values": ["no", "yes"]}],
            "window": {"size": "60s", **window},
            "estimates": [{"name": "bathing", "of": ["bathing"]}],
        }
    )


def _specs(*collections: JointCollection, reports_partitions: int | None = None) -> dict[str, TopicSpec]:
    specs = topic_specs(collections, prefix="p", partials_partitions=4, reports_partitions=reports_partitions)
    return {spec.name: spec for spec in specs}


def _as_declared(spec: TopicSpec, **config: str) -> ExistingTopic:
    declared = {**spec.config, **{name.replace("_", "."): value for name, value in config.items()}}
    return ExistingTopic(name=spec.name, partitions=spec.partitions, replication=1, config=declared)


def _retention_ms(spec: TopicSpec) -> int:
    return int(spec.config["retention.ms"])


milliseconds = st.integers(min_value=0, max_value=400 * DAY_MS)
windows = st.fixed_dictionaries(
    {
        "size": st.integers(min_value=1, max_value=400 * DAY_MS),
        "grace": milliseconds,
        "ahead": milliseconds,
        "max_age": st.integers(min_value=1, max_value=400 * DAY_MS),
        "idle_timeout": st.one_of(st.just("never"), st.integers(min_value=1, max_value=400 * DAY_MS)),
        "memory": st.one_of(st.none(), st.floats(min_value=0.01, max_value=0.9)),
    }
)


@given(st.lists(windows, min_size=1, max_size=3))
def test_no_topic_forgets_what_an_open_or_remembered_window_of_any_collection_needs(several: list[Any]) -> None:
    collections = [_collection(f"c{index}", **window) for index, window in enumerate(several)]
    specs = _specs(*collections)
    for collection in collections:
        window = collection.window
        open_ms = window.ahead_ms + window.size_ms + window.grace_ms + window.max_age_ms
        open_ms += window.idle_timeout_ms or 0
        remembered_ms = open_ms + (window.memory_windows - 1) * window.size_ms
        assert _retention_ms(specs[f"p.{collection.name}.reports"]) >= OUTAGE_MS + open_ms
        assert _retention_ms(specs["p.partials"]) >= OUTAGE_MS + remembered_ms
        estimates = specs[f"p.{collection.name}.estimates"]
        assert _retention_ms(estimates) >= 30 * DAY_MS
        assert _retention_ms(estimates) >= _retention_ms(specs["p.partials"]) + SEGMENT_MS


def test_collections_share_partials_and_registry_and_nothing_else() -> None:
    names = list(_specs(_collection("a"), _collection("b")))
    assert sorted(names) == [
        "p.a.dead-letters",
        "p.a.estimates",
        "p.a.provisional",
        "p.a.reports",
        "p.b.dead-letters",
        "p.b.estimates",
        "p.b.provisional",
        "p.b.reports",
        "p.collections",
        "p.partials",
    ]


def test_even_the_longest_topic_names_are_valid_in_kafka() -> None:
    names = TopicNames(prefix="x" * 100)
    longest = "c" * 63
    for name in (
        names.reports(longest),
        names.answers_of(longest, "estimates"),
        names.provisional(longest),
        names.dead_letters(longest),
        names.partials,
    ):
        assert re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name)


def _own(names: TopicNames, collection: str) -> dict[str, str]:
    """Return the topics of one collection, whatever its kind."""
    answers = {kind.collection.topics.answers for kind in kinds.KINDS.values()}
    own = (names.reports, names.provisional, names.records, names.rounds, names.dead_letters)
    return {each: names.answers_of(collection, each) for each in answers} | {
        each.__name__: each(collection) for each in own
    }


#: What can follow a collection's name, or a prefix, by the name of what names it.
KINDS = sorted(_own(TopicNames(prefix="p"), "care"))
SHARED = [name for name, member in vars(TopicNames).items() if isinstance(member, property)]


def _in_metrics(topic: str) -> str:
    """Return what Kafka's metrics call a topic; its brokers refuse a topic whose name there is another's."""
    return topic.replace(".", "_")


def _readings(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield all prefixes, collections and kinds with a topic of this name in metrics."""
    places = [place for place, letter in enumerate(name) if letter == "_"]
    for first in places:
        for prefix in {name[:first], name[:first].replace("_", ".")}:
            if not is_prefix(prefix):
                continue
            names = TopicNames(prefix=prefix)
            yield from ((prefix, "", kind) for kind in SHARED if _in_metrics(getattr(names, kind)) == name)
            for collection in {name[first + 1 : last] for last in places if first < last}:
                for kind in KINDS if is_collection(collection) else []:
                    if _in_metrics(_own(names, collection)[kind]) == name:
                        yield prefix, collection, kind


@given(prefixes, collections, st.sampled_from(KINDS), st.sampled_from(SHARED))
def test_a_topic_is_that_of_one_prefix_collection_and_kind_even_in_metrics(
    prefix: str, collection: str, kind: str, shared: str
) -> None:
    names = TopicNames(prefix=prefix)
    assert list(_readings(_in_metrics(_own(names, collection)[kind]))) == [(prefix, collection, kind)]
    assert list(_readings(_in_metrics(getattr(names, shared)))) == [(prefix, "", shared)]


def test_a_collection_without_demands_of_its_own_fits_the_shared_topics_of_another() -> None:
    first, second = _specs(_collection(size="1m")), _specs(_collection(size="12h", grace="10m"))
    assert second["p.partials"].problems({"p.partials": _as_declared(first["p.partials"])}) == []


def test_topics_as_declared_have_no_problems() -> None:
    specs = _specs(_collection())
    existing = {name: _as_declared(spec) for name, spec in specs.items()}
    for spec in specs.values():
        assert spec.differences(existing[spec.name]) == {}
        assert spec.problems(existing) == []


@pytest.mark.parametrize(
    "config",
    [
        {"cleanup_policy": "delete, compact"},
        {"retention_ms": "-1"},
        {"retention_ms": str(1_000 * DAY_MS)},
        {"segment_ms": "1"},
        {"max_message_bytes": str(2**30)},
    ],
)
def test_a_setting_that_is_as_good_or_better_is_no_problem(config: dict[str, str]) -> None:
    spec = _specs(_collection())["p.care.estimates"]
    assert spec.problems({spec.name: _as_declared(spec, **config)}) == []


@pytest.mark.parametrize(
    ("topic", "config", "problem"),
    [
        ("p.partials", {"cleanup_policy": "delete"}, "has cleanup.policy=delete, needs compact,delete"),
        ("p.collections", {"cleanup_policy": "compact,delete"}, "has cleanup.policy=compact,delete, needs compact"),
        (
            "p.care.reports",
            {"message_timestamp_type": "CreateTime"},
            "has message.timestamp.type=CreateTime, needs LogAppendTime",
        ),
        ("p.care.reports", {"retention_ms": "1000"}, f"has retention.ms=1000, needs {9 * DAY_MS} or more"),
        (
            "p.care.estimates",
            {"max_message_bytes": "1048588"},
            "has max.message.bytes=1048588, needs 16777216 or more",
        ),
    ],
)
def test_a_setting_that_will_not_do_is_named_with_what_is_needed(
    topic: str, config: dict[str, str], problem: str
) -> None:
    spec = _specs(_collection())[topic]
    assert spec.problems({topic: _as_declared(spec, **config)}) == [f"topic {topic} {problem}"]


@pytest.mark.parametrize("partials", ["-1", str(30 * DAY_MS)])
def test_partials_that_would_outlive_the_estimates_are_a_problem(partials: str) -> None:
    specs = _specs(_collection())
    existing = {name: _as_declared(spec) for name, spec in specs.items()}
    existing["p.partials"] = _as_declared(specs["p.partials"], retention_ms=partials)
    (problem,) = [what for spec in specs.values() for what in spec.problems(existing)]
    assert problem.startswith(f"topic p.care.estimates has retention.ms={30 * DAY_MS}, which must be more than the ")
    assert partials in problem


def test_reports_may_have_any_number_of_partitions_unless_one_is_asked_for() -> None:
    spec = _specs(_collection())["p.care.reports"]
    existing = {spec.name: replace(_as_declared(spec), partitions=48)}
    assert spec.problems(existing) == []
    asked = _specs(_collection(), reports_partitions=8)["p.care.reports"]
    assert asked.problems(existing) == ["topic p.care.reports has 48 partitions, needs 8"]


def test_another_number_of_partials_partitions_is_a_problem() -> None:
    spec = _specs(_collection())["p.partials"]
    existing = {spec.name: replace(_as_declared(spec), partitions=8)}
    assert spec.problems(existing) == ["topic p.partials has 8 partitions, needs 4"]


def test_a_collection_that_asks_for_records_has_a_topic_of_them_of_bounded_size() -> None:
    asking = _collection().model_copy(update={"synthesis": SynthesisSpec(records=10)})
    assert set(_specs(asking)) - set(_specs(_collection())) == {"p.care.records"}
    spec = _specs(asking)["p.care.records"]
    assert (spec.partitions, spec.config["retention.bytes"]) == (1, str(ROOM_BYTES))
    smaller = _as_declared(spec, retention_bytes=str(ROOM_BYTES - 1))
    assert spec.problems({spec.name: smaller}) == [
        f"topic p.care.records has retention.bytes={ROOM_BYTES - 1}, needs {ROOM_BYTES} or more"
    ]
    assert not spec.problems({spec.name: _as_declared(spec, retention_bytes="-1")})
