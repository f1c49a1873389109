"""Tests of every way in which a cluster is not ready for a worker, and of the message to the operator."""

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec, topic_specs
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.preflight import PreflightError, preflight
from tests.records.examples import TEXT
from tests.service.harness import JointDeployment

CARE = TEXT.replace("collection: survey", "collection: care")

FILE = "care survey.yaml"


def _care(*changes: tuple[str, str]) -> JointCollection:
    text = CARE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return JointCollection.parse(text)


def _specs(settings: Settings, *collections: JointCollection, partitions: int | None = None) -> dict[str, TopicSpec]:
    specs = topic_specs(
        collections,
        prefix=settings.topic_prefix,
        partials_partitions=settings.partials_partitions,
        reports_partitions=partitions,
    )
    return {spec.name: spec for spec in specs}


async def _create(settings: Settings, specs: dict[str, TopicSpec]) -> None:
    async with Cluster.connect(settings) as cluster:
        await cluster.create(list(specs.values()), replication=1)


async def _ready(settings: Settings, collection: JointCollection) -> None:
    await _create(settings, _specs(settings, collection))
    await register(settings, [Registration.of(collection)])


async def _refused(settings: Settings, collection: JointCollection) -> str:
    with pytest.raises(PreflightError) as refused:
        await preflight(settings, {FILE: collection})
    return str(refused.value).replace(f"{settings.topic_prefix}.", "PREFIX.")


def _create_command(settings: Settings) -> str:
    return f"stream-ldp topics create '{FILE}' {settings.flags()}"


async def test_a_ready_cluster_gives_the_partition_count_of_every_topic(settings: Settings) -> None:
    await _create(settings, _specs(settings, _care(), partitions=7))
    await register(settings, [Registration.of(_care())])
    names = settings.topic_names
    assert await preflight(settings, {FILE: _care()}) == {
        names.collections: 1,
        names.partials: 4,
        names.reports("care"): 7,
        names.answers_of("care", "estimates"): 1,
        names.provisional("care"): 1,
        names.dead_letters("care"): 1,
    }


async def test_an_empty_cluster_is_refused_with_all_missing_topics_and_the_create_command(
    settings: Settings,
) -> None:
    assert await _refused(settings, _care()) == (
        "topic PREFIX.collections does not exist\n"
        "topic PREFIX.partials does not exist\n"
        "topic PREFIX.care.reports does not exist\n"
        "topic PREFIX.care.estimates does not exist\n"
        "topic PREFIX.care.provisional does not exist\n"
        "topic PREFIX.care.dead-letters does not exist\n"
        f"  -> create it: {_create_command(settings)}"
    )


async def test_one_missing_topic_is_named_alone(settings: Settings) -> None:
    specs = _specs(settings, _care())
    del specs[settings.topic_names.dead_letters("care")]
    await _create(settings, specs)
    await register(settings, [Registration.of(_care())])
    assert await _refused(settings, _care()) == (
        f"topic PREFIX.care.dead-letters does not exist\n  -> create it: {_create_command(settings)}"
    )


async def test_topics_set_up_by_hand_are_checked_against_what_the_service_relies_on(settings: Settings) -> None:
    specs = {
        name: TopicSpec(name=name, partitions=spec.partitions + 1, config={})
        for name, spec in _specs(settings, _care()).items()
    }
    await _create(settings, specs)
    await register(settings, [Registration.of(_care())])
    problems = (await _refused(settings, _care())).splitlines()
    week = 7 * 86_400_000
    assert problems == [
        "topic PREFIX.collections has cleanup.policy=delete, needs compact",
        "topic PREFIX.collections has max.message.bytes=1048588, needs 16777216 or more",
        "topic PREFIX.collections has 2 partitions, needs 1",
        "topic PREFIX.partials has cleanup.policy=delete, needs compact,delete",
        f"topic PREFIX.partials has retention.ms={week}, needs 777600000 or more",
        "topic PREFIX.partials has max.message.bytes=1048588, needs 16777216 or more",
        "topic PREFIX.partials has 5 partitions, needs 4",
        f"topic PREFIX.care.reports has retention.ms={week}, needs 777600000 or more",
        "topic PREFIX.care.reports has message.timestamp.type=CreateTime, needs LogAppendTime",
        "topic PREFIX.care.estimates has cleanup.policy=delete, needs compact,delete",
        f"topic PREFIX.care.estimates has retention.ms={week}, needs 2592000000 or more",
        "topic PREFIX.care.estimates has max.message.bytes=1048588, needs 16777216 or more",
        "topic PREFIX.care.estimates has 2 partitions, needs 1",
        f"topic PREFIX.care.estimates has retention.ms={week}, which must be more than the {week} of "
        "PREFIX.partials, or finals would be published twice",
        "topic PREFIX.care.provisional has cleanup.policy=delete, needs compact,delete",
        "topic PREFIX.care.provisional has max.message.bytes=1048588, needs 16777216 or more",
        "topic PREFIX.care.provisional has 2 partitions, needs 1",
        f"topic PREFIX.care.dead-letters has retention.ms={week}, needs 1209600000 or more",
        "topic PREFIX.care.dead-letters has max.message.bytes=1048588, needs 16777216 or more",
        "topic PREFIX.care.dead-letters has 2 partitions, needs 1",
        "  -> change it with Kafka's kafka-configs.sh or kafka-topics.sh, or ask for what is there "
        "(--partitions, --partials-partitions)",
    ]


async def test_an_unregistered_collection_is_refused_with_the_command_that_registers_it(settings: Settings) -> None:
    await _create(settings, _specs(settings, _care()))
    assert await _refused(settings, _care()) == (
        f"collection care is not registered\n  -> register it: {_create_command(settings)}"
    )


async def test_another_version_is_refused_with_both_fingerprints_and_the_differences(
    settings: Settings,
) -> None:
    other = _care(("f: 0.25", "f: 0.5"), ("none, some, full", "none, full"))
    await _ready(settings, _care())
    problem, cure = (await _refused(settings, other)).splitlines()
    assert problem.startswith(
        f"collection care is registered with fingerprint {_care().fingerprint.hex()}, "
        f"this one has {other.fingerprint.hex()}: "
    )
    assert re.search(r"mechanism\S*\.f \(registered: 0.25; here: 0.5\)", problem)
    assert "attributes.mobility.values (registered: none, some, full; here: none, full)" in problem
    assert "window" not in problem
    assert cure == (
        "  -> a name never changes its meaning: give this version of the collection a new name, in its first line"
    )


async def test_attributes_in_another_order_are_shown_as_another_version(settings: Settings) -> None:
    await _ready(settings, _care())
    lines = [line for line in CARE.splitlines() if "values" in line]
    swapped = _care(("\n".join(lines), "\n".join(reversed(lines))))
    assert "attributes (registered: bathing, mobility; here: mobility, bathing)" in await _refused(settings, swapped)


async def test_changed_windows_or_estimates_need_workers_with_the_file_stopped_first(settings: Settings) -> None:
    await _ready(settings, _care())
    problem, cure = (await _refused(settings, _care(("60s", "30s"), ("name: both", "name: joint")))).splitlines()
    assert problem.startswith("collection care has changed since it was registered: ")
    assert re.search(r"window\.size\S* \(registered: 60000; here: 30000\)", problem)
    assert "estimates (registered: both; here: joint)" in problem
    assert cure == f"  -> stop the workers that have its file, then register it again: {_create_command(settings)}"


async def test_a_record_that_is_not_a_registration_is_named_by_its_offset_and_passed_over(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    await _ready(settings, _care())
    topic = settings.topic_names.collections
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for key, value in ((b"films", b"not a registration"), (b"care", None), (b"care", b'{"version": 2}')):
            await producer.send_and_wait(topic, key=key, value=value)
    assert await preflight(settings, {FILE: _care()})
    for offset in (1, 3):  # the newest of each name
        assert f"offset {offset} of topic {topic} is not a registration" in caplog.text
    assert "it has version 2, this release reads 1" in caplog.text


async def test_an_unreachable_broker_is_noticed_within_seconds() -> None:
    began = time.monotonic()
    with pytest.raises(
        BrokerUnreachable, match=r"^127\.0\.0\.1:1: connection refused: no broker listens on this port$"
    ):
        await preflight(Settings.load(brokers="127.0.0.1:1"), {FILE: _care()})
    assert time.monotonic() - began < 10


@pytest.mark.long
async def test_a_worker_does_not_start_on_brokers_of_two_clusters(
    settings: Settings, elsewhere: EmbeddedKafka, tmp_path: Path
) -> None:
    deployments = [
        await JointDeployment.create(tmp_path, brokers=brokers, prefix=settings.topic_prefix)
        for brokers in (settings.brokers, elsewhere.bootstrap)
    ]
    both = settings.model_copy(update={"brokers": f"{settings.brokers},{elsewhere.bootstrap}"})
    with replace(deployments[0], settings=both).worker() as worker:
        assert await worker.ended() == 1
        assert f"{settings.brokers} is of cluster " in worker.log
        assert f"{elsewhere.bootstrap} is of cluster AAAAAAAAAAAAAAAAAAAAAA" in worker.log
