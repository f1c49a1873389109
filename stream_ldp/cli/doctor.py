"""This command checks a set-up, and says what to do about all that is wrong with it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from stream_ldp.cli.arguments import CollectionFiles
from stream_ldp.cli.options import TOPICS, load_collections, with_settings
from stream_ldp.cli.running import run_operation
from stream_ldp.kafka.access import Operation
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.registry import RegistryError, read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.service.diagnosis import Facts, Finding, GroupFacts, Level, diagnose
from stream_ldp.service.groups import groups_left_behind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.kafka.registry import Registration
    from stream_ldp.kafka.topics import ExistingTopic

__all__ = ["doctor"]

#: The extra that brings each optional package.
OPTIONAL = {"pandas": "analysis", "pyarrow": "analysis", "confluent_kafka": "demo", "statsmodels": "demo"}
#: Longest wait, in milliseconds, for a record that is there.
READ_MS = 1_000
#: What is taken to be allowed where brokers do not tell it.
READ = frozenset({Operation.READ})
#: Kafka's number of the time stamps that brokers set.
LOG_APPEND_TIME = 1


@with_settings((*TOPICS, "group"))
def doctor(
    files: CollectionFiles,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON array.")] = False,
    settings: Settings,
) -> None:
    """Check a set-up, from brokers to packages, and say what to do about each problem.

    It looks at brokers, topics, access, registry, clocks, groups and packages, and writes nothing. The exit status is
    1 if there is a problem; warnings, and what cannot be found out without writing, leave it 0.
    """
    run_operation(_doctor(settings, load_collections(files), as_json=as_json))


async def _doctor(settings: Settings, collections: Mapping[str, Collection], *, as_json: bool) -> None:
    try:
        findings = diagnose(await _facts(settings, collections), settings, collections)
    except BrokerUnreachable as error:
        what = "; ".join(str(error).splitlines())
        findings = [Finding(level=Level.PROBLEM, what=what, cure="correct --brokers and the security settings")]
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in findings], indent=2))
    else:
        for each in findings:
            typer.echo(f"{each.level}: {each.what}")
            if each.cure:
                typer.echo(f"  -> {each.cure}")
    if any(each.level is Level.PROBLEM for each in findings):
        raise typer.Exit(1)


async def _facts(settings: Settings, collections: Mapping[str, Collection]) -> Facts:
    specs = topic_specs(
        collections.values(), prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions
    )
    topics: dict[str, ExistingTopic] = {}
    hidden = {}
    async with Cluster.connect(settings) as cluster:
        for spec in specs:
            try:
                topics |= await cluster.topics([spec.name])
            except ClusterError as error:
                hidden[spec.name] = str(error)
        registry, registry_error = await _registry(settings, topics)
        operations = await cluster.operations(list(topics)) if topics else {}
        readable = {name for name in topics if Operation.READ in operations.get(name, READ)}
        newest_ms, now_ms, ends = await _read(settings, list(topics.values()), readable)
        visible = [name for name in await cluster.groups() if name.startswith(f"{settings.group}.")]
        groups, hidden_groups = {}, {}
        for collection in collections.values():
            name = settings.ingest_group(collection.name)
            if name in visible:
                places = [each for each in ends if each.topic == settings.topic_names.reports(collection.name)]
                try:
                    committed = await cluster.committed(name, places)
                    members = await cluster.members(name)
                except (KafkaError, ClusterError) as error:
                    hidden_groups[name] = str(error)
                    continue
                groups[name] = GroupFacts(
                    members=members,
                    behind=sum(ends[each][1] - committed.get(each, ends[each][0]) for each in places),
                )
        return Facts(
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
            now_ms=now_ms,
            missing={package: extra for package, extra in OPTIONAL.items() if find_spec(package) is None},
        )


def _names(collections: Mapping[str, Collection]) -> set[str]:
    return {each.name for each in collections.values()}


async def _registry(
    settings: Settings, topics: Mapping[str, ExistingTopic]
) -> tuple[dict[str, Registration] | None, str]:
    if settings.topic_names.collections not in topics:
        return None, ""
    try:
        return await read_registry(settings), ""
    except (RegistryError, KafkaError) as error:
        return None, str(error)


async def _read(
    settings: Settings, topics: Sequence[ExistingTopic], readable: set[str]
) -> tuple[int | None, int, dict[TopicPartition, tuple[int, int]]]:
    """Read one of the newest records of each topic that this user may read, of the given names, in no group.

    Returns:
        The newest time that a broker gave, and the time here just after that record came; and of each partition its
        first offset and the one after its last.
    """
    if not topics:
        # A consumer that is stopped before it had anything to do is stopped in the middle of its start.
        return None, time.time_ns() // 1_000_000, {}
    clocks: list[tuple[int, int]] = []
    places = [TopicPartition(each.name, number) for each in topics for number in range(each.partitions)]
    consumer: Any = AIOKafkaConsumer(**settings.client_options(), group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        first, last = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        ends = {place: (first[place], last[place]) for place in places}
        left = {place for place, (begin, end) in ends.items() if begin < end and place.topic in readable}
        if left:
            consumer.assign(left)
        for place in left:
            consumer.seek(place, last[place] - 1)
        while left:
            try:
                found = await consumer.getmany(timeout_ms=READ_MS)
            except TopicAuthorizationFailedError:
                break
            if not found:
                break
            left -= found.keys()
            here_ms = time.time_ns() // 1_000_000
            clocks += [
                (each.timestamp, here_ms)
                for records in found.values()
                for each in records
                if each.timestamp_type == LOG_APPEND_TIME
            ]
    finally:
        await consumer.stop()
    if not clocks:
        return None, time.time_ns() // 1_000_000, ends
    # The record that came the soonest after it was written bounds the skew the closest.
    newest_ms, here_ms = max(clocks, key=lambda clock: clock[0] - clock[1])
    return newest_ms, here_ms, ends
