"""This command checks a set-up, and says what to do about all that is wrong with it."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Annotated

import typer
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from stream_ldp.cli.arguments import CollectionsOrNames
from stream_ldp.cli.echo import echo, echo_json
from stream_ldp.cli.named import named_collections
from stream_ldp.cli.options import TOPICS, with_settings
from stream_ldp.client.reporter import now_ms
from stream_ldp.collection import Collection
from stream_ldp.kafka.access import Operation
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.offsets import bounds_of, last_records
from stream_ldp.kafka.registry import Registration, RegistryError
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, topic_specs
from stream_ldp.service.diagnosis import Diagnosis, Facts, GroupFacts, Severity, diagnose
from stream_ldp.service.groups import groups_left_behind
from stream_ldp.service.windows_log import partials_log

#: The extra that brings each optional package.
OPTIONAL = {
    "matplotlib": "analysis",
    "polars": "analysis",
    "duckdb": "export",
    "psycopg": "export",
    "pandas": "analysis",
    "pyarrow": "analysis",
    "confluent_kafka": "demo",
    "uvloop": "gateway",
}
#: What is taken to be allowed where brokers do not say.
READ = frozenset({Operation.READ})
#: Kafka's number of the time stamps that brokers set.
LOG_APPEND_TIME = 1


@with_settings((*TOPICS, "group", "region", "regions"))
async def doctor(
    files: CollectionsOrNames,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON array.")] = False,
    settings: Settings,
) -> None:
    """Examine brokers, topics, access, registry, clocks, groups, regions and packages, and write nothing.

    The exit status is 1 if there is a problem. Warnings, and checks that would have to write, leave it 0.
    """
    try:
        collections = await named_collections(files, settings=settings)
        findings = diagnose(await _facts(settings, collections), settings, collections)
    except BrokerUnreachable as error:
        what = "; ".join(str(error).splitlines())
        findings = [Diagnosis(level=Severity.PROBLEM, what=what, cure="correct --brokers and the security settings")]
    if as_json:
        echo_json(json.dumps([asdict(each) for each in findings], indent=2))
    else:
        for finding in findings:
            echo(f"{finding.level}: {finding.what}")
            if finding.cure:
                echo(f"  -> {finding.cure}")
    if any(each.level is Severity.PROBLEM for each in findings):
        raise typer.Exit(1)


async def _facts(settings: Settings, collections: Mapping[str, Collection]) -> Facts:
    async with Cluster.connect(settings) as cluster:
        topics, hidden = await _topics(cluster, settings, collections.values())
        registry, registry_error = await _registry(settings, topics)
        operations = await cluster.operations(list(topics)) if topics else {}
        places = [TopicPartition(each.name, number) for each in topics.values() for number in range(each.partitions)]
        # A consumer that is stopped before it had anything to do is stopped in the middle of its start.
        asked_ms = now_ms()
        bounds = await bounds_of(settings, places) if places else {}
        readable = {name for name in topics if Operation.READ in operations.get(name, READ)}
        newest_ms, here_ms, ahead_ms = await _clocks(
            settings, {place: ends for place, ends in bounds.items() if place.topic in readable}, asked_ms=asked_ms
        )
        groups, hidden_groups = await _groups(cluster, settings, collections.values(), bounds)
        partials = settings.topic_names.partials
        return Facts(
            heard=await _heard(settings, collections.values()) if partials in readable and settings.regions else {},
            brokers=await cluster.size(),
            topics=topics,
            hidden=hidden,
            operations=operations,
            registry=registry,
            registry_error=registry_error,
            groups=groups,
            hidden_groups=hidden_groups,
            strangers=tuple(await groups_left_behind(cluster, settings, {*registry, *_names(collections)}))
            if registry is not None
            else (),
            newest_ms=newest_ms,
            now_ms=here_ms,
            ahead_ms=ahead_ms,
            missing={package: extra for package, extra in OPTIONAL.items() if find_spec(package) is None},
        )


def _names(collections: Mapping[str, Collection]) -> set[str]:
    return {collection.name for collection in collections.values()}


async def _topics(
    cluster: Cluster, settings: Settings, collections: Iterable[Collection]
) -> tuple[dict[str, ExistingTopic], dict[str, str]]:
    """Describe the topics that the collections need, and say why others cannot be described, by name."""
    topics: dict[str, ExistingTopic] = {}
    hidden = {}
    for spec in topic_specs(
        collections, prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions
    ):
        try:
            topics |= await cluster.topics([spec.name])
        except ClusterError as error:
            hidden[spec.name] = str(error)
    return topics, hidden


async def _registry(
    settings: Settings, topics: Mapping[str, ExistingTopic]
) -> tuple[dict[str, Registration] | None, str]:
    if settings.topic_names.collections not in topics:
        return None, ""
    try:
        return await read_registry(settings), ""
    except (RegistryError, KafkaError) as error:
        return None, str(error)


async def _groups(
    cluster: Cluster,
    settings: Settings,
    collections: Iterable[Collection],
    bounds: Mapping[TopicPartition, tuple[int, int]],
) -> tuple[dict[str, GroupFacts], dict[str, str]]:
    """Describe how the group that counts has come with each collection, and say why not, by the collection's name."""
    groups: dict[str, GroupFacts] = {}
    hidden: dict[str, str] = {}
    name = settings.group_names.ingest
    if name not in await cluster.groups():
        return groups, hidden
    for collection in collections:
        reports = settings.topic_names.reports(collection.name)
        ends = {place: each for place, each in bounds.items() if place.topic == reports}
        try:
            committed = await cluster.committed(name, list(ends))
            members = await cluster.members(name, of=reports)
        except (KafkaError, ClusterError) as error:
            hidden[collection.name] = str(error)
            continue
        behind = sum(end - committed.get(place, begin) for place, (begin, end) in ends.items())
        groups[collection.name] = GroupFacts(members=members, behind=behind)
    return groups, hidden


async def _heard(settings: Settings, collections: Iterable[Collection]) -> dict[str, dict[str, int]]:
    """Return the furthest watermark of each region that is on the partials topic, by the collection's name."""
    heard: dict[str, dict[str, int]] = {each.name: {} for each in collections}
    for collection in collections:
        regions = heard[collection.name]
        async for entry in partials_log(collection.name, settings=settings):
            mark = entry.watermark_of(collection.fingerprint.hex())
            if mark is not None and mark.time_ms is not None:
                regions[mark.region] = max(mark.time_ms, regions.get(mark.region, mark.time_ms))
    return heard


async def _clocks(
    settings: Settings, bounds: Mapping[TopicPartition, tuple[int, int]], *, asked_ms: int
) -> tuple[int | None, int, int | None]:
    """Read the brokers' clocks from the times that they gave to records, and nothing is written for it.

    bounds: of partitions, as they were found after the time `asked_ms` here.

    Returns:
        The newest time of any broker, None where brokers give no times; the time here just after that record came;
        and the least time from `asked_ms` to the time of a later record, or None.
    """
    clocks = [clock async for clock in _times(settings, bounds)]
    later = await bounds_of(settings, list(bounds)) if bounds else {}
    written = {place: (bounds[place][1], end) for place, (_, end) in later.items()}
    since = [clock async for clock in _times(settings, written)]
    ahead_ms = min((broker_ms - asked_ms for broker_ms, _ in since), default=None)
    if not clocks + since:
        return None, now_ms(), None
    # The record that came the soonest after it was written bounds the skew the closest.
    return *max(clocks + since, key=lambda clock: clock[0] - clock[1]), ahead_ms


async def _times(
    settings: Settings, bounds: Mapping[TopicPartition, tuple[int, int]]
) -> AsyncIterator[tuple[int, int]]:
    """Yield the broker's time of the last record of each partition, and the time here just after it came."""
    async for records in last_records(settings, bounds):
        here_ms = now_ms()
        for record in records:
            if record.timestamp_type == LOG_APPEND_TIME:
                yield record.timestamp, here_ms
