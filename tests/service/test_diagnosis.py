"""Tests of the findings, from facts alone."""

from dataclasses import replace

import pytest

from stream_ldp.kafka.access import Operation, Role
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, topic_specs
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.diagnosis import Facts, GroupFacts, Severity, diagnose
from tests.service.test_preflight import CARE

COLLECTION = JointCollection.parse(CARE)
SETTINGS = Settings.load(brokers="broker:9092", topic_prefix="p")
NAMES = SETTINGS.topic_names
SPECS = topic_specs([COLLECTION], prefix="p", partials_partitions=SETTINGS.partials_partitions)
GROUP = SETTINGS.group_names.ingest
GOOD = Facts(
    brokers=3,
    topics={
        spec.name: ExistingTopic(name=spec.name, partitions=spec.partitions, replication=3, config=spec.config)
        for spec in SPECS
    },
    operations={spec.name: frozenset(Operation) for spec in SPECS},
    registry={"care": Registration.of(COLLECTION)},
    groups={"care": GroupFacts(members=2, behind=5)},
    newest_ms=1_000_000,
    now_ms=1_000_400,
)


def found(facts: Facts, level: Severity, *, settings: Settings = SETTINGS) -> list[tuple[str, str]]:
    return [
        (each.what, each.cure) for each in diagnose(facts, settings, {"care.yaml": COLLECTION}) if each.level == level
    ]


def test_a_sound_set_up_has_neither_problem_nor_warning_and_says_what_stays_unknown() -> None:
    assert found(GOOD, Severity.PROBLEM) == found(GOOD, Severity.WARNING) == []
    unknown = " ".join(what for what, _ in found(GOOD, Severity.UNKNOWN))
    assert "release of the brokers" in unknown
    assert "may write" not in unknown
    assert "write topic" in " ".join(what for what, _ in found(GOOD, Severity.OK))
    assert "at most 0.4 s ahead" in unknown


def test_a_password_that_is_sent_in_the_clear_is_a_warning() -> None:
    reach = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "ada", "sasl_password": "geheim"}
    plain, scram = (
        Settings.load(brokers="broker:9092", topic_prefix="p", sasl_mechanism=mechanism, **reach)
        for mechanism in ("PLAIN", "SCRAM-SHA-512")
    )
    ((what, cure),) = found(GOOD, Severity.WARNING, settings=plain)
    assert what == "the password goes to the brokers in the clear"
    assert cure.startswith("use security_protocol SASL_SSL")
    assert found(GOOD, Severity.WARNING, settings=scram) == []


def test_every_finding_is_one_line_and_all_but_the_good_ones_say_what_to_do() -> None:
    facts = replace(
        GOOD, topics={}, registry={}, groups={}, strangers=("p.old.merged",), missing={"pandas": "analysis"}
    )
    for each in diagnose(facts, SETTINGS, {"care.yaml": COLLECTION}):
        assert "\n" not in each.what + each.cure
        assert bool(each.cure) == (each.level is not Severity.OK)


def test_a_missing_topic_is_a_problem_with_the_command_that_creates_it() -> None:
    topics = {name: topic for name, topic in GOOD.topics.items() if name != NAMES.partials}
    ((what, cure),) = found(replace(GOOD, topics=topics), Severity.PROBLEM)
    assert what == "topic p.partials does not exist"
    assert "stream-ldp topics create care.yaml" in cure


@pytest.mark.parametrize(("setting", "value"), [("cleanup.policy", "compact"), ("retention.ms", "1000")])
def test_a_wrong_setting_is_a_problem(setting: str, value: str) -> None:
    topic = GOOD.topics[NAMES.reports("care")]
    wrong = replace(topic, config={**topic.config, setting: value})
    ((what, _),) = found(replace(GOOD, topics={**GOOD.topics, topic.name: wrong}), Severity.PROBLEM)
    assert f"{setting}={value}" in what


def test_another_fingerprint_under_the_name_is_a_problem() -> None:
    foreign = Registration.of(JointCollection.parse(CARE.replace("f: 0.25", "f: 0.5")))
    ((what, cure),) = found(replace(GOOD, registry={"care": foreign}), Severity.PROBLEM)
    assert foreign.fingerprint.hex() in what
    assert "new name" in cure


def test_a_topic_that_is_hidden_is_a_problem_of_access_and_not_called_missing() -> None:
    topics = {name: topic for name, topic in GOOD.topics.items() if name != NAMES.partials}
    hidden = {NAMES.partials: "this user needs an access rule"}
    ((what, _),) = found(replace(GOOD, topics=topics, hidden=hidden), Severity.PROBLEM)
    assert what == "this user needs an access rule"


def without(operation: Operation, *names: str) -> Facts:
    """Facts of a user who may not do something with some topics."""
    denied = {name: GOOD.operations[name] - {operation} for name in names}
    return replace(GOOD, operations={**GOOD.operations, **denied})


def test_a_topic_that_cannot_be_read_is_a_problem_and_an_old_broker_does_not_tell() -> None:
    ((what, _),) = found(without(Operation.READ, NAMES.collections), Severity.PROBLEM)
    assert what == "this user may describe topic p.collections, but not read it"
    untold = replace(GOOD, operations={})
    assert found(untold, Severity.PROBLEM) == []
    assert any("p.partials" in what and "unknown" in what for what, _ in found(untold, Severity.UNKNOWN))


def test_a_user_who_may_not_read_dead_letters_can_run_a_worker() -> None:
    facts = without(Operation.READ, NAMES.dead_letters("care"))
    assert found(facts, Severity.PROBLEM) == []
    ((what, _),) = found(facts, Severity.WARNING)
    assert what == "this user may describe topic p.care.dead-letters, but not read it"
    assert any(
        what.startswith("the rules on topics are enough for: client, worker") for what, _ in found(facts, Severity.OK)
    )


def test_whether_a_user_may_write_is_reported_and_what_the_rules_are_enough_for() -> None:
    facts = without(Operation.WRITE, *GOOD.topics)
    good = [what for what, _ in found(facts, Severity.OK)]
    assert "this user may read but not write to topic p.partials" in good
    assert "the rules on topics are enough for: reader, watcher, analyst, resetter" in good
    nothing = replace(GOOD, operations={name: frozenset({Operation.DESCRIBE}) for name in GOOD.topics})
    ((what, cure),) = [each for each in found(nothing, Severity.WARNING) if "enough for nothing" in each[0]]
    assert what.endswith(f"a {Role.CLIENT}, say, also needs Write on p.care.reports")
    assert "stream-ldp topics acls" in cure


def test_commits_that_are_hidden_are_reported_with_the_rule_that_shows_them() -> None:
    facts = replace(GOOD, groups={}, hidden_groups={"care": "not authorized"})
    ((what, cure),) = found(facts, Severity.WARNING)
    assert what == f"what group {GROUP} has committed of care cannot be read: not authorized"
    assert "--operation Read" in cure


def test_an_unreadable_registry_is_a_problem() -> None:
    ((what, _),) = found(replace(GOOD, registry=None, registry_error="no answer"), Severity.PROBLEM)
    assert what == "the registry cannot be read: no answer"


def test_a_record_from_the_future_shows_that_this_clock_is_behind() -> None:
    ((what, _),) = found(replace(GOOD, newest_ms=GOOD.now_ms + 5_000), Severity.WARNING)
    assert what == "the clock of this machine is at least 5.0 s behind that of the brokers"


def test_a_record_from_before_it_was_asked_for_shows_that_this_clock_is_ahead() -> None:
    behind = replace(GOOD, newest_ms=GOOD.now_ms - 5_100, ahead_ms=-5_000)
    ((what, _),) = found(behind, Severity.WARNING)
    assert what == "the clock of this machine is at least 5.0 s ahead of that of the brokers"


def test_a_record_that_came_meanwhile_bounds_the_skew_on_both_sides() -> None:
    sound = [what for what, _ in found(replace(GOOD, ahead_ms=300), Severity.OK) if "clock" in what]
    assert sound == ["clock skew: this clock is at most 0.4 s ahead of the brokers', and at most 0.3 s behind it"]
    assert not [what for what, _ in found(replace(GOOD, ahead_ms=300), Severity.UNKNOWN) if "clock" in what]


def test_without_a_record_the_skew_is_unknown() -> None:
    assert any(
        "clock skew: unknown, since" in what for what, _ in found(replace(GOOD, newest_ms=None), Severity.UNKNOWN)
    )


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        (replace(GOOD, groups={}), f"group {GROUP} is not there"),
        (replace(GOOD, groups={"care": GroupFacts(members=0, behind=1234)}), "1,234 records of reports"),
        (replace(GOOD, strangers=("p.old.merged",)), "group p.old.merged was left behind"),
        (replace(GOOD, missing={"pandas": "analysis"}), "pandas is not installed"),
    ],
)
def test_what_may_be_meant_is_a_warning(facts: Facts, shown: str) -> None:
    ((what, _),) = found(facts, Severity.WARNING)
    assert shown in what
    assert found(facts, Severity.PROBLEM) == []


def test_a_home_names_the_regions_that_are_missing_refused_or_waited_for_too_briefly() -> None:
    short = COLLECTION.window.idle_timeout_ms
    assert short is not None
    home = Settings.load(brokers="broker:9092", topic_prefix="p", region="eu", regions=f"eu,us={short}ms,ap=1h")
    facts = replace(GOOD, heard={"care": {"eu": 0, "ap": 60_000, "uk": 0}})
    (brief, _), (missing, _) = found(facts, Severity.WARNING, settings=home)
    assert "for region us, which closes them" in brief
    assert missing == "nothing of region us about care is on p.partials"
    ((refused, cure),) = found(facts, Severity.PROBLEM, settings=home)
    assert refused == "partials of region uk about care are refused"
    assert "setting regions" in cure
    good = [what for what, _ in found(facts, Severity.OK, settings=home)]
    assert "region ap has counted care up to 1970-01-01T00:01:00Z" in good
    away = Settings.load(brokers="broker:9092", topic_prefix="p", region="us")
    assert "counts and merges nothing" in " ".join(what for what, _ in found(GOOD, Severity.OK, settings=away))
