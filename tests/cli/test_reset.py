"""Tests of `stream-ldp reset`: it tells what it would do, does only that, and nothing while workers run."""

import asyncio
import time
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from typer.testing import Result

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.records.collection import JointCollection
from tests.cli.on_kafka import run
from tests.service.lived import PARTITION, Lived, commit
from tests.service.test_preflight import CARE

COLLECTION = JointCollection.parse(CARE)


async def commits(settings: Settings) -> dict[int, tuple[int, str]]:
    topic = settings.topic_names.reports("care")
    async with Cluster.connect(settings) as cluster:
        places = [TopicPartition(topic, number) for number in range(4)]
        found = await cluster.commits(settings.group_names.ingest, places)
    return {place.partition: what for place, what in found.items()}


async def groups(settings: Settings) -> list[str]:
    async with Cluster.connect(settings) as cluster:
        return sorted(name for name in await cluster.groups() if name.startswith(settings.group))


def test_a_position_is_moved_back_only_with_yes_and_what_it_means_is_reported(
    settings: Settings, care_file: Path, lived: Lived
) -> None:
    before = asyncio.run(commits(settings))
    dry = run(settings, "reset", "position", care_file, "--since", moment(lived.start_ms))
    assert dry.exit_code == 0, dry.output
    assert f"care: would count again from {moment(lived.start_ms)}:" in dry.stdout
    assert f"partition {PARTITION}: from offset 0, instead of 1: 1 record again" in dry.stdout
    assert "are published, and stay as they are" in dry.stdout
    assert dry.stdout.endswith("nothing has been changed: add --yes to do it\n")
    assert asyncio.run(commits(settings)) == before
    done = run(settings, "reset", "position", care_file, "--since", moment(lived.start_ms), "--yes")
    assert done.exit_code == 0, done.output
    assert asyncio.run(commits(settings)) == dict.fromkeys(range(4), (0, ""))
    assert Checkpoint.parse(0, "").watermark_ms is None


def test_a_position_that_passes_over_reports_says_how_many_and_of_which_windows(
    settings: Settings, care_file: Path, lived: Lived
) -> None:
    dry = run(settings, "reset", "position", care_file, "--since", "2100-01-01")
    assert "instead of 1: 3 records passed over" in dry.stdout
    assert "1 windows from " in dry.stdout
    assert " have no final answer yet, and lack the records passed over" in dry.stdout


def test_nothing_is_reset_while_a_worker_is_in_the_group(settings: Settings, care_file: Path, lived: Lived) -> None:
    async def meanwhile() -> list[Result]:
        async with AIOKafkaConsumer(
            settings.topic_names.reports("care"),
            **settings.client_options(),
            group_id=settings.group_names.ingest,
        ) as member:
            await member.getmany(timeout_ms=100)
            words = [["position", care_file, "--since", "2026-01-01", "--yes"], ["topics", care_file, "--yes"]]
            return [await asyncio.to_thread(run, settings, "reset", *each) for each in words]

    for refused in asyncio.run(meanwhile()):
        assert refused.exit_code == 1
        assert "care: running workers: 1\n  -> stop them first" in refused.stderr


def test_groups_left_behind_are_deleted_and_no_others(settings: Settings, lived: Lived) -> None:
    topic, old = settings.topic_names.reports("care"), settings.group_names.merged("old")
    merge = f"{settings.group}._merge.0"
    neighbours = [f"{settings.group}-neighbour.old.merged", f"{settings.group}.neighbour.old.merged"]
    kept = Checkpoint(generation=1, offset=1, position=1, watermark_ms=None, watermark_generation=0)
    for group in (old, merge, *neighbours):
        asyncio.run(commit(settings, group, topic, kept))
    dry = run(settings, "reset", "groups")
    assert dry.stdout.splitlines()[0] == f"would delete group {old}, which has no member"
    assert old in asyncio.run(groups(settings))
    assert run(settings, "reset", "groups", "--yes").exit_code == 0
    assert asyncio.run(groups(settings)) == sorted([settings.group_names.ingest, merge, *neighbours])
    assert "no group under" in run(settings, "reset", "groups").stdout


def test_the_topics_of_a_collection_go_with_its_groups_and_what_stays_is_reported(
    settings: Settings, care_file: Path, lived: Lived
) -> None:
    own = {name for name in lived.partitions if ".care." in name}

    async def existing() -> set[str]:
        async with Cluster.connect(settings) as cluster:
            return set(await cluster.topics(list(lived.partitions)))

    dry = run(settings, "reset", "topics", care_file)
    assert dry.exit_code == 0, dry.output
    assert all(f"would delete topic {name}, and all that it holds" in dry.stdout for name in own)
    assert asyncio.run(existing()) == set(lived.partitions)
    done = run(settings, "reset", "topics", care_file, "--yes")
    assert done.exit_code == 0, done.output
    assert f"stays: its name in {settings.topic_names.collections}" in done.stdout
    assert "\\n" not in done.stdout
    # What the controller has deleted, a broker forgets a moment later.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        left: set[str] = asyncio.run(existing()) & own
        kept: dict[int, tuple[int, str]] = asyncio.run(commits(settings))
        if not left and not kept:
            break
        time.sleep(0.05)
    assert asyncio.run(existing()) == set(lived.partitions) - own
    assert asyncio.run(commits(settings)) == {}, "they go with their topic, and the group counts others"
    assert set(asyncio.run(groups(settings))) <= {settings.group_names.ingest}


def test_without_a_registry_nobody_knows_which_groups_were_left_behind(settings: Settings) -> None:
    refused = run(settings, "reset", "groups", "--yes")
    assert refused.exit_code == 1
    assert "check --topic-prefix" in refused.stderr
