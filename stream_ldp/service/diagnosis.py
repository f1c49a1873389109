"""Judge a set-up: from facts about a cluster to findings, each with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from stream_ldp.collection import Collection, shown_duration
from stream_ldp.kafka.access import Operation, Resource, Role, access_rules
from stream_ldp.kafka.topics import ExistingTopic, topic_specs
from stream_ldp.pipeline.answer import moment
from stream_ldp.quantity import quantity
from stream_ldp.service.preflight import create_command, registry_problems, topic_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_ldp.kafka.registry import Registration
    from stream_ldp.kafka.settings import Settings

#: Clocks that differ by less, in milliseconds, are as near as NTP and a slow network leave them.
CLOSE_CLOCKS_MS = 1_000


class Severity(StrEnum):
    """How much a finding matters; `UNKNOWN` is what could not be found out without writing."""

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """One finding: what is, in one line, and what to do about it, which is empty if nothing is to be done."""

    level: Severity
    what: str
    cure: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFacts:
    """A consumer group that counts a collection: its running members, and the records that it has not committed."""

    members: int
    behind: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What was found on a cluster and on this machine.

    brokers: number of brokers.
    topics: the topics that exist, by name.
    hidden: why a topic cannot be described, by name.
    operations: what this user may do with each topic, by name; one whose brokers do not say is left out.
    registry: the registrations by name; None if there is no registry, or it cannot be read.
    registry_error: why the registry cannot be read; empty if it can, or if it does not exist.
    groups: the groups that count the given collections, by name; one that this user cannot see is left out.
    hidden_groups: why the commits of a group cannot be read, by name.
    strangers: names of groups under the workers' prefix that have no member and no registered collection.
    newest_ms: the broker's time of the newest record that was read, in milliseconds since 1970-01-01 UTC; None if
        there is none.
    now_ms: the time of this machine just after that record was read, likewise.
    ahead_ms: the least difference from the time here, before the cluster was asked, to the broker's time of a record
        that was written afterwards; None if none was written. The brokers' clock is at most as far ahead.
    heard: event time, in milliseconds, of the furthest watermark of each region on the partials topic, by the name of
        the collection and of the region; empty where nothing is merged from several.
    missing: the extra that brings a package that is not installed, by package.
    """

    brokers: int
    topics: Mapping[str, ExistingTopic]
    hidden: Mapping[str, str] = field(default_factory=dict)
    operations: Mapping[str, frozenset[Operation]] = field(default_factory=dict)
    registry: Mapping[str, Registration] | None = None
    registry_error: str = ""
    groups: Mapping[str, GroupFacts] = field(default_factory=dict)
    hidden_groups: Mapping[str, str] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()
    newest_ms: int | None = None
    now_ms: int
    ahead_ms: int | None = None
    heard: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def diagnose(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> list[Diagnosis]:
    """Judge the facts for the collections, which are keyed by their files."""
    return [
        *_brokers(facts, settings),
        *_topics(facts, settings, collections),
        *_access(facts, settings, collections),
        *_registry(facts, settings, collections),
        _clock(facts),
        *_groups(facts, settings, collections),
        *_regions(facts, settings, collections),
        *_packages(facts),
    ]


def _brokers(facts: Facts, settings: Settings) -> Iterator[Diagnosis]:
    yield Diagnosis(level=Severity.OK, what=f"{settings.brokers} answers; brokers: {facts.brokers}")
    if settings.sends_in_the_clear:
        yield Diagnosis(
            level=Severity.WARNING,
            what=f"the {settings.sends_in_the_clear} goes to the brokers in the clear",
            cure="use security_protocol SASL_SSL, or sasl_mechanism SCRAM-SHA-512, which sends none",
        )
    yield Diagnosis(
        level=Severity.UNKNOWN,
        what="release of the brokers: the protocol does not give it",
        cure=f"ask a broker: kafka-broker-api-versions.sh --version --bootstrap-server {settings.brokers}",
    )


def _topics(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Iterator[Diagnosis]:
    declared = topic_specs(
        collections.values(), prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions
    )
    for spec in declared:
        if spec.name in facts.hidden:
            continue  # It is reported with the access rules.
        found = list(topic_problems([spec], facts.topics, create_command(settings, collections)))
        for each in found:
            yield Diagnosis(level=Severity.PROBLEM, what=each.what, cure=each.cure)
        if not found:
            partitions = facts.topics[spec.name].partitions
            yield Diagnosis(level=Severity.OK, what=f"topic {spec.name} is as it should be; partitions: {partitions}")


def _access(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Iterator[Diagnosis]:
    for name, why in facts.hidden.items():
        yield Diagnosis(
            level=Severity.PROBLEM,
            what=why,
            cure=f"allow it with kafka-acls.sh --add --topic {name}, or as another user",
        )
    for name in facts.topics:
        known = facts.operations.get(name)
        if known is None:
            yield Diagnosis(
                level=Severity.UNKNOWN,
                what=f"this user may describe topic {name}; what else is unknown, since its brokers do not say",
                cure="look at the access rules: kafka-acls.sh --list",
            )
        elif Operation.READ not in known:
            yield Diagnosis(
                # A worker only writes its dead letters.
                level=Severity.WARNING if name.endswith(".dead-letters") else Severity.PROBLEM,
                what=f"this user may describe topic {name}, but not read it",
                cure=f"allow it: kafka-acls.sh --add --operation Read --topic {name}",
            )
        else:
            writes = "and write" if Operation.WRITE in known else "but not write to"
            yield Diagnosis(level=Severity.OK, what=f"this user may read {writes} topic {name}")
    if facts.topics and facts.operations.keys() >= facts.topics.keys():
        yield _roles(facts, settings, collections)


def _roles(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Diagnosis:
    """Say what the user's rules on topics are enough for."""
    enough = [role for role in Role if not _lacking(role, facts, settings, collections)]
    if enough:
        return Diagnosis(level=Severity.OK, what=f"the rules on topics are enough for: {', '.join(enough)}")
    role, topic, operation = next(
        (role, *lack) for role in Role for lack in _lacking(role, facts, settings, collections)
    )
    return Diagnosis(
        level=Severity.WARNING,
        what=f"the rules on topics are enough for nothing; a {role}, say, also needs {operation} on {topic}",
        cure="add the rules that this prints: stream-ldp topics acls COLLECTION --role ROLE --principal User:NAME",
    )


def _lacking(
    role: Role, facts: Facts, settings: Settings, collections: Mapping[str, Collection]
) -> list[tuple[str, Operation]]:
    """List the topics and operations that a role needs and this user has not."""
    rules = access_rules(role, collections.values(), settings=settings)
    return [
        (name, rule.operation)
        for rule in rules
        if rule.resource is Resource.TOPIC
        for name in facts.topics
        if (name.startswith(rule.name) if rule.prefixed else name == rule.name)
        if rule.operation not in facts.operations[name]
    ]


def _registry(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Iterator[Diagnosis]:
    if facts.registry_error:
        yield Diagnosis(
            level=Severity.PROBLEM,
            what=f"the registry cannot be read: {facts.registry_error}",
            cure=f"allow this user to read topic {settings.topic_names.collections}, or wait for its broker",
        )
    if facts.registry is None:
        return
    for file, collection in collections.items():
        found = list(registry_problems([collection], facts.registry, create_command(settings, collections)))
        for each in found:
            yield Diagnosis(level=Severity.PROBLEM, what=each.what, cure=each.cure)
        if not found:
            yield Diagnosis(level=Severity.OK, what=f"collection {collection.name} is registered as {file} says")


def _clock(facts: Facts) -> Diagnosis:
    if facts.newest_ms is None:
        return Diagnosis(
            level=Severity.UNKNOWN,
            what="clock skew: unknown, since no record with the broker's time could be read",
            cure="ask again when there are reports",
        )
    behind_ms = facts.newest_ms - facts.now_ms
    if facts.ahead_ms is not None and facts.ahead_ms < -CLOSE_CLOCKS_MS:
        return Diagnosis(
            level=Severity.WARNING,
            what=f"the clock of this machine is at least {-facts.ahead_ms / 1000:.1f} s ahead of that of the brokers",
            cure="synchronize both by NTP: reports with a wrong time are refused, or counted in the wrong window",
        )
    if behind_ms > CLOSE_CLOCKS_MS:
        return Diagnosis(
            level=Severity.WARNING,
            what=f"the clock of this machine is at least {behind_ms / 1000:.1f} s behind that of the brokers",
            cure="synchronize both by NTP: reports with a wrong time are refused, or counted in the wrong window",
        )
    if facts.ahead_ms is not None:
        return Diagnosis(
            level=Severity.OK,
            what=f"clock skew: this clock is at most {-behind_ms / 1000:.1f} s ahead of the brokers', and at most "
            f"{facts.ahead_ms / 1000:.1f} s behind it",
        )
    return Diagnosis(
        level=Severity.UNKNOWN,
        what=f"clock skew: this clock is at most {-behind_ms / 1000:.1f} s ahead of the brokers'; no lower bound",
        cure="ask again while reports come in: the newest one bounds it",
    )


def _groups(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Iterator[Diagnosis]:
    name = settings.group_names.ingest
    for collection in collections.values():
        group = facts.groups.get(collection.name)
        if collection.name in facts.hidden_groups:
            yield Diagnosis(
                level=Severity.WARNING,
                what=f"what group {name} has committed of {collection.name} cannot be read: "
                f"{facts.hidden_groups[collection.name]}",
                cure=f"to see how far it is behind, allow it: kafka-acls.sh --add --operation Read --group {name}",
            )
        elif group is None:
            yield Diagnosis(
                level=Severity.WARNING,
                what=f"group {name} is not there: no worker has run yet, or this user may not describe it",
                cure="start a worker, or allow this user: kafka-acls.sh --add --operation Describe --group NAME",
            )
        elif group.members == 0:
            yield Diagnosis(
                level=Severity.WARNING,
                what=f"group {name} has no running worker for {collection.name}, whose topic has "
                f"{quantity(group.behind, 'record')} of reports that are not counted",
                cure="start a worker before retention deletes what it has not counted"
                if group.behind
                else "start a worker before users report",
            )
        else:
            yield Diagnosis(
                level=Severity.OK,
                what=f"group {name}, of {quantity(group.members, 'member')}, counts {collection.name}; "
                f"still to be committed: {quantity(group.behind, 'record')}",
            )
    for name in facts.strangers:
        yield Diagnosis(
            level=Severity.WARNING,
            what=f"group {name} was left behind: it has no member, and its collection is not registered",
            cure="if nobody needs its offsets: stream-ldp reset groups --yes",
        )


def _regions(facts: Facts, settings: Settings, collections: Mapping[str, Collection]) -> Iterator[Diagnosis]:
    if settings.region and not settings.merges:
        yield Diagnosis(
            level=Severity.OK,
            what=f"region {settings.region} counts and merges nothing: a mirror has to copy "
            f"{settings.topic_names.partials} to the home",
        )
    for collection in collections.values():
        heard = facts.heard.get(collection.name, {})
        for region, seconds in settings.region_waits.items():
            idle_ms = collection.window.idle_timeout_ms or 0
            if seconds is not None and 1_000 * seconds <= idle_ms:
                yield Diagnosis(
                    level=Severity.WARNING,
                    what=f"windows of {collection.name} wait {seconds:g} s for region {region}, which closes them "
                    f"{shown_duration(idle_ms)} after the others where nobody reports (idle_timeout)",
                    cure="give it longer in the setting regions: twice as long, and a minute for a worker that dies",
                )
            if region in heard:
                until = moment(heard[region])
                yield Diagnosis(
                    level=Severity.OK, what=f"region {region} has counted {collection.name} up to {until}"
                )
            elif facts.heard:
                yield Diagnosis(
                    level=Severity.WARNING,
                    what=f"nothing of region {region} about {collection.name} is on {settings.topic_names.partials}",
                    cure="see whether its workers have the setting region, and the mirror copies their partials; or "
                    "nobody has reported there yet",
                )
        for region in sorted(heard.keys() - settings.region_waits.keys()):
            named = f"region {region}" if region else "no region"
            yield Diagnosis(
                level=Severity.PROBLEM,
                what=f"partials of {named} about {collection.name} are refused",
                cure="add it to the setting regions of the workers here, or mend the setting region of those that "
                "sent them; records from before there were regions go by retention",
            )


def _packages(facts: Facts) -> Iterator[Diagnosis]:
    for package, extra in facts.missing.items():
        yield Diagnosis(
            level=Severity.WARNING,
            what=f"optional package {package} is not installed",
            cure=f"if you need it: pip install 'stream-ldp[{extra}]'",
        )
    if not facts.missing:
        yield Diagnosis(level=Severity.OK, what="all optional packages are installed")
