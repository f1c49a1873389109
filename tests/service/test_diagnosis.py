"""Tests of the findings, from facts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, topic_specs
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.diagnosis import Facts, GroupFacts, Level, diagnose
from tests.service.test_preflight import CARE

COLLECTION = JointCollection.parse(CARE)
SETTINGS = Settings.load(brokers="broker:9092", topic_prefix="p")
NAMES = SETTINGS.topic_names
SPECS = topic_specs([COLLECTION], prefix="p", partials_partitions=SETTINGS.partials_partitions)
GROUP = SETTINGS.ingest_group("care")
GOOD = Facts(
    brokers=3,
    topics={
        spec.name: ExistingTopic(name=spec.name, partitions=spec.partitions, replication=3, config=spec.config)
        for spec in SPECS
    },
    readable={spec.name: True for spec in SPECS},
    registry={"care": Registration.of(COLLECTION)},
    groups={GROUP: GroupFacts(members=2, behind=5)},
    newest_ms=1_000_000,
    now_ms=1_000_400,
)


def found(facts: Facts, level: Level) -> list[tuple[str, str]]:
    return [
        (each.what, each.cure) for each in diagnose(facts, SETTINGS, {"care.yaml": COLLECTION}) if each.level == level
    ]


def test_a_sound_set_up_has_neither_problem_nor_warning_and_says_what_stays_unknown() -> None:
    assert found(GOOD, Level.PROBLEM) == found(GOOD, Level.WARNING) == []
    unknown = " ".join(what for what, _ in found(GOOD, Level.UNKNOWN))
    assert "release of the brokers" in unknown
    assert "may write" in unknown
    assert "at most 0.4 s ahead" in unknown


def test_every_finding_is_one_line_and_all_but_the_good_ones_say_what_to_do() -> None:
    facts = replace(
        GOOD, topics={}, registry={}, groups={}, strangers=("p.old.ingest",), missing={"pandas": "analysis"}
    )
    for each in diagnose(facts, SETTINGS, {"care.yaml": COLLECTION}):
        assert "\n" not in each.what + each.cure
        assert bool(each.cure) == (each.level is not Level.OK)


def test_a_missing_topic_is_a_problem_with_the_command_that_creates_it() -> None:
    topics = {name: topic for name, topic in GOOD.topics.items() if name != NAMES.partials}
    ((what, cure),) = found(replace(GOOD, topics=topics), Level.PROBLEM)
    assert what == "topic p.partials does not exist"
    assert "stream-ldp topics create care.yaml" in cure


@pytest.mark.parametrize(("setting", "value"), [("cleanup.policy", "compact"), ("retention.ms", "1000")])
def test_a_wrong_setting_is_a_problem(setting: str, value: str) -> None:
    topic = GOOD.topics[NAMES.reports("care")]
    wrong = replace(topic, config={**topic.config, setting: value})
    ((what, _),) = found(replace(GOOD, topics={**GOOD.topics, topic.name: wrong}), Level.PROBLEM)
    assert f"{setting}={value}" in what


def test_another_fingerprint_under_the_name_is_a_problem() -> None:
    foreign = Registration.of(JointCollection.parse(CARE.replace("f: 0.25", "f: 0.5")))
    ((what, cure),) = found(replace(GOOD, registry={"care": foreign}), Level.PROBLEM)
    assert foreign.fingerprint.hex() in what
    assert "new name" in cure


def test_a_topic_that_is_hidden_is_a_problem_of_access_and_not_called_missing() -> None:
    topics = {name: topic for name, topic in GOOD.topics.items() if name != NAMES.partials}
    hidden = {NAMES.partials: "this user needs an access rule"}
    ((what, _),) = found(replace(GOOD, topics=topics, hidden=hidden), Level.PROBLEM)
    assert what == "this user needs an access rule"


def test_a_topic_that_cannot_be_read_is_a_problem_and_an_empty_one_is_unknown() -> None:
    readable = {name: True for name in GOOD.topics if name != NAMES.partials} | {NAMES.collections: False}
    facts = replace(GOOD, readable=readable)
    ((what, _),) = found(facts, Level.PROBLEM)
    assert what == "this user may describe topic p.collections, but not read it"
    assert any("p.partials" in what and "unknown" in what for what, _ in found(facts, Level.UNKNOWN))


def test_a_user_who_may_not_read_dead_letters_can_run_a_worker() -> None:
    facts = replace(GOOD, readable={**GOOD.readable, NAMES.dead_letters("care"): False})
    assert found(facts, Level.PROBLEM) == []
    ((what, _),) = found(facts, Level.WARNING)
    assert what == "this user may describe topic p.care.dead-letters, but not read it"


def test_an_unreadable_registry_is_a_problem() -> None:
    ((what, _),) = found(replace(GOOD, registry=None, registry_error="no answer"), Level.PROBLEM)
    assert what == "the registry cannot be read: no answer"


def test_a_record_from_the_future_shows_that_this_clock_is_behind() -> None:
    ((what, _),) = found(replace(GOOD, newest_ms=GOOD.now_ms + 5_000), Level.WARNING)
    assert what == "the clock of this machine is at least 5.0 s behind that of the brokers"


def test_without_a_record_the_skew_is_unknown() -> None:
    assert any(
        "clock skew: unknown, since" in what for what, _ in found(replace(GOOD, newest_ms=None), Level.UNKNOWN)
    )


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        (replace(GOOD, groups={}), f"group {GROUP} is not there"),
        (replace(GOOD, groups={GROUP: GroupFacts(members=0, behind=1234)}), "1,234 records of reports wait"),
        (replace(GOOD, strangers=("p.old.ingest",)), "group p.old.ingest was left behind"),
        (replace(GOOD, missing={"pandas": "analysis"}), "pandas is not installed"),
    ],
)
def test_what_may_be_meant_is_a_warning(facts: Facts, shown: str) -> None:
    ((what, _),) = found(facts, Level.WARNING)
    assert shown in what
    assert found(facts, Level.PROBLEM) == []
