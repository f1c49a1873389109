"""Tests of `stream-ldp doctor` on a real broker, sound and broken."""

import asyncio
import importlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec, topic_specs
from stream_ldp.records.collection import JointCollection
from tests.cli.on_kafka import run
from tests.service.test_preflight import CARE

doctor = importlib.import_module("stream_ldp.cli.doctor")


def _file(folder: Path) -> Path:
    file = folder / "care.yaml"
    file.write_text(CARE)
    return file


def test_a_sound_set_up_ends_with_0_whatever_else_is_reported_of_its_groups(
    settings: Settings, tmp_path: Path
) -> None:
    file = _file(tmp_path)
    assert run(settings, "topics", "create", file).exit_code == 0
    reports, merge = settings.topic_names.reports("care"), f"{settings.group}._merge.0"

    async def left() -> None:
        async with AIOKafkaProducer(**settings.client_options()) as producer:
            for _ in range(3):
                await producer.send_and_wait(reports, b"a report", partition=1)
        for group in (settings.group_names.ingest, settings.group_names.merged("old"), merge):
            async with AIOKafkaConsumer(
                **settings.client_options(), group_id=group, enable_auto_commit=False
            ) as consumer:
                consumer.assign([TopicPartition(reports, 1)])
                await consumer.commit({TopicPartition(reports, 1): 1})

    asyncio.run(left())
    result = run(settings, "doctor", file)
    assert result.exit_code == 0, result.output
    assert f"ok: collection care is registered as {file} says" in result.stdout
    assert f"ok: this user may read and write topic {settings.topic_names.collections}" in result.stdout
    assert f"ok: this user may read and write topic {reports}" in result.stdout
    assert (
        f"{settings.group_names.ingest} has no running worker for care, whose topic has 2 records of "
        in result.stdout
    )
    assert f"warning: group {settings.group_names.merged('old')} was left behind" in result.stdout
    assert "-> if nobody needs its offsets: stream-ldp reset groups --yes" in result.stdout
    assert "ok: the rules on topics are enough for: client, worker" in result.stdout
    assert merge not in result.stdout
    assert "clock skew: this clock is at most" in result.stdout


@pytest.mark.parametrize(
    ("skew_ms", "bounded"),
    # Records of 100 ms before doctor asked, which took 40 ms, and of 20 ms after it had asked.
    [(0, (20, 40, 20)), (-5_000, (-4_980, 40, -4_980)), (5_000, (5_020, 40, 5_020))],
)
async def test_a_record_that_is_written_meanwhile_bounds_the_brokers_clock_on_both_sides(
    monkeypatch: pytest.MonkeyPatch, skew_ms: int, bounded: tuple[int, int, int]
) -> None:
    place, idle = TopicPartition("reports", 0), TopicPartition("reports", 1)
    written_ms = {4: -100, 6: 20}

    async def last_records(_: Settings, bounds: dict[TopicPartition, tuple[int, int]]) -> AsyncIterator[list[Any]]:
        for begin, end in bounds.values():
            if begin < end:
                yield [SimpleNamespace(timestamp=written_ms[end - 1] + skew_ms, timestamp_type=1)]

    async def bounds_of(*_: object) -> dict[TopicPartition, tuple[int, int]]:
        return {place: (0, 7), idle: (0, 0)}

    monkeypatch.setattr(doctor, "last_records", last_records)
    monkeypatch.setattr(doctor, "bounds_of", bounds_of)
    monkeypatch.setattr(doctor, "now_ms", lambda: 40)
    assert await doctor._clocks(Settings(), {place: (0, 5), idle: (0, 0)}, asked_ms=0) == bounded


def test_a_broken_set_up_is_reported_in_full_and_ends_with_1(settings: Settings, tmp_path: Path) -> None:
    file, names = _file(tmp_path), settings.topic_names
    specs = {
        spec.name: spec
        for spec in topic_specs(
            [JointCollection.parse(CARE)], prefix=names.prefix, partials_partitions=settings.partials_partitions
        )
    }
    del specs[names.dead_letters("care")]
    specs[names.partials] = TopicSpec(
        name=names.partials,
        partitions=settings.partials_partitions,
        config={**specs[names.partials].config, "cleanup.policy": "delete"},
    )
    foreign = Registration.of(JointCollection.parse(CARE.replace("f: 0.25", "f: 0.5")))

    async def make() -> None:
        async with Cluster.connect(settings) as cluster:
            await cluster.create(list(specs.values()), replication=1)
        await register(settings, [foreign])

    asyncio.run(make())
    result = run(settings, "doctor", file, "--json")
    assert result.exit_code == 1
    problems = [each for each in json.loads(result.stdout) if each["level"] == "problem"]
    assert len(problems) == 3
    for part in ("care.dead-letters does not exist", "cleanup.policy=delete", foreign.fingerprint.hex()):
        assert any(part in each["what"] and each["cure"] for each in problems), part


def test_a_broker_without_a_topic_is_reported_as_it_is(settings: Settings, tmp_path: Path) -> None:
    result = run(settings, "doctor", _file(tmp_path))
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert f"problem: topic {settings.topic_names.reports('care')} does not exist" in result.stdout
    assert "stream-ldp topics create" in result.stdout


def test_an_unreachable_broker_is_the_one_problem(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["doctor", str(_file(tmp_path)), "--brokers", "127.0.0.1:1"])
    assert result.exit_code == 1
    assert result.stdout.startswith("problem: 127.0.0.1:1: connection refused: no broker listens on this port\n  -> ")


def test_a_user_who_may_not_see_what_was_committed_is_reported_so_and_all_the_rest(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, names = _file(tmp_path), settings.topic_names
    assert run(settings, "topics", "create", file).exit_code == 0
    group, place = settings.group_names.ingest, TopicPartition(names.reports("care"), 0)

    async def leave() -> None:
        async with Cluster.connect(settings) as cluster:
            await cluster.commit(group, {place: (0, "")})

    async def refused(*_: object) -> None:
        raise GroupAuthorizationFailedError(group)

    asyncio.run(leave())
    monkeypatch.setattr(Cluster, "committed", refused)
    result = run(settings, "doctor", file)
    assert result.exit_code == 0, result.output
    assert f"warning: what group {group} has committed of care cannot be read: " in result.stdout
    assert "all optional packages are installed" in result.stdout
