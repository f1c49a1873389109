"""Tests of `stream-ldp topics` on a real broker: it can be run again, and it changes nothing that it must not."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import Registration
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, TopicSpec
from stream_ldp.records.collection import JointCollection
from tests.service.test_preflight import CARE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "care.yaml"
    file.write_text(CARE)
    return file


def _run(settings: Settings, command: str, *arguments: str | Path) -> Result:
    flags = ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]
    return CliRunner().invoke(app, ["topics", command, *map(str, arguments), *flags], env={"COLUMNS": "200"})


def _existing(settings: Settings) -> dict[str, ExistingTopic]:
    names = settings.topic_names
    wanted = [names.reports("care"), names.answers_of("care", "estimates"), names.partials, names.collections]

    async def look() -> dict[str, ExistingTopic]:
        async with Cluster.connect(settings) as cluster:
            return await cluster.topics(wanted)

    return asyncio.run(look())


def test_create_makes_everything_once_and_list_then_finds_it(settings: Settings, file: Path) -> None:
    missing = _run(settings, "list", file)
    assert missing.exit_code == 1
    assert "stream-ldp topics create" in missing.stderr
    first = _run(settings, "create", file, "--partitions", "3")
    assert first.exit_code == 0, first.output
    fingerprint = JointCollection.load(file).fingerprint.hex()
    assert f"Collection care is registered, with fingerprint {fingerprint}." in first.stdout
    again = _run(settings, "create", file)
    assert again.exit_code == 0, again.output
    assert "created" not in again.stdout
    assert "Collection care was registered already." in again.stdout
    assert _run(settings, "list", file).exit_code == 0
    assert _existing(settings)[settings.topic_names.reports("care")].partitions == 3


def test_create_names_an_unsuitable_topic_and_does_not_change_it(settings: Settings, file: Path) -> None:
    name = settings.topic_names.answers_of("care", "estimates")
    by_hand = TopicSpec(name=name, partitions=1, config={"cleanup.policy": "delete"})

    async def make() -> None:
        async with Cluster.connect(settings) as cluster:
            await cluster.create([by_hand], replication=1)

    asyncio.run(make())
    result = _run(settings, "create", file)
    assert result.exit_code == 1
    assert f"topic {name} has cleanup.policy=delete, needs compact,delete" in result.stderr
    assert _existing(settings)[name].config["cleanup.policy"] == "delete"
    assert asyncio.run(read_registry(settings)) == {}


def test_another_number_of_partitions_than_requested_is_an_error(settings: Settings, file: Path) -> None:
    assert _run(settings, "create", file, "--partitions", "2").exit_code == 0
    result = _run(settings, "create", file, "--partitions", "4")
    assert result.exit_code == 1
    assert "care.reports has 2 partitions, needs 4" in result.stderr


def test_a_registered_name_keeps_its_meaning_and_another_version_is_refused(settings: Settings, file: Path) -> None:
    assert _run(settings, "create", file).exit_code == 0
    registered = asyncio.run(read_registry(settings))
    file.write_text(CARE.replace("f: 0.25", "f: 0.5"))
    result = _run(settings, "create", file)
    assert result.exit_code == 1
    assert "collection care is registered with fingerprint" in result.stderr
    assert "give this version of the collection a new name" in result.stderr
    assert asyncio.run(read_registry(settings)) == registered


def test_changed_windows_are_registered_once_nobody_counts_the_collection(settings: Settings, file: Path) -> None:
    assert _run(settings, "create", file).exit_code == 0
    file.write_text(CARE.replace("60s", "30s"))
    refused = _run(settings, "list", file)
    assert refused.exit_code == 1
    assert "stop the workers that have its file" in refused.stderr
    result = _run(settings, "create", file)
    assert result.exit_code == 0, result.stderr
    assert "Collection care is registered anew: window.size (registered: 60000; here: 30000)" in result.stdout
    assert asyncio.run(read_registry(settings)) == {"care": Registration.of(JointCollection.load(file))}


def test_two_files_with_collections_of_one_name_are_refused(settings: Settings, file: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.yaml"
    twin.write_text(CARE)
    result = _run(settings, "create", file, twin)
    assert result.exit_code == 1
    assert result.stderr == f"{file} and {twin} hold collections of the same name: a name means one thing\n"


def test_an_unreachable_broker_gives_one_line_and_no_traceback(file: Path) -> None:
    result = CliRunner().invoke(app, ["topics", "create", str(file), "--brokers", "127.0.0.1:1"])
    assert result.exit_code == 1
    assert result.stderr == "127.0.0.1:1: connection refused: no broker listens on this port\n"


def test_the_access_rules_of_a_user_are_printed_as_commands_of_kafka(file: Path) -> None:
    flags = ["--role", "reader", "--principal", "User:ada", "--brokers", "nowhere:1", "--topic-prefix", "p"]
    result = CliRunner().invoke(app, ["topics", "acls", str(file), *flags])
    assert result.stdout == (
        "kafka-acls.sh --bootstrap-server nowhere:1 --add --allow-principal User:ada --operation Read "
        "--topic p.care.estimates\n"
    )
