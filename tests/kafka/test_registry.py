"""A name means what was registered last."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError

from stream_ldp.kafka import producer, registry
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.registry import Registration, RegistryError, read_registration, register
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.pipeline.retirement import Retirement
from tests.client.examples import collection_of


async def create_registry(settings: Settings) -> None:
    specs = topic_specs([collection_of()], prefix=settings.topic_prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)


async def test_the_registration_of_one_name_is_found_among_others(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(30):
        assert await read_registration(settings, "care-survey") is None, "there is no registry yet"
    await create_registry(settings)
    assert await read_registration(settings, "care-survey") is None
    await register(settings, [Registration.of(collection_of(window="hop: 30s")), Registration.of(collection_of())])
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for key in (b"films", b"care-survey"):
            await producer.send_and_wait(settings.topic_names.collections, key=key, value=b"not a registration")
    assert await read_registration(settings, "care-survey") == Registration.of(collection_of())
    assert "offset 3 of topic" in caplog.text, "what was registered before it holds"
    assert "offset 2 of topic" not in caplog.text, "other names are none of this client's business"
    assert await read_registration(settings, "films") is None


async def test_a_registry_that_this_user_may_not_read_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(self: LogReader, **options: Any) -> None:
        raise TopicAuthorizationFailedError

    monkeypatch.setattr(LogReader, "start", refused)
    assert await read_registration(Settings.load(brokers="nowhere:1"), "care-survey") is None


async def test_a_registry_that_cannot_be_read_now_is_reported_by_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(self: LogReader, **options: Any) -> None:
        raise KafkaConnectionError("no broker answers")

    monkeypatch.setattr(LogReader, "start", gone)
    with pytest.raises(RegistryError, match=r"topic stream-ldp\.collections could not be read: .*no broker answers"):
        await read_registration(Settings.load(brokers="nowhere:1"), "care-survey")


async def test_an_unacknowledged_registration_is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[AIOKafkaProducer] = []

    class Silent(AIOKafkaProducer):  # type: ignore[misc]
        async def start(self) -> None:
            made.append(self)

        async def send(self, *_: Any, **__: Any) -> asyncio.Future[None]:
            return asyncio.get_running_loop().create_future()

        async def stop(self) -> None:
            await asyncio.Event().wait()

    for module in (producer, registry):
        monkeypatch.setattr(module, "AIOKafkaProducer", Silent, raising=False)
    monkeypatch.setattr(registry, "TIMEOUT_SECONDS", 0.01)
    async with asyncio.timeout(30):
        with pytest.raises(RegistryError, match=r"topic stream-ldp\.collections could not be written in"):
            await register(Settings.load(brokers="nowhere:1"), [Registration.of(collection_of())])
    assert [each._closed for each in made] == [True]


@pytest.mark.parametrize("key", [b"care", None])
@pytest.mark.parametrize(
    "value",
    [
        *(None, b"", b"7", b"[]", b"{}", b"[" * 100_000, b'{"version": 2}'),
        *(b'{"fingerprint": 7, "document": {}}', b'{"fingerprint": "7", "document": {}}'),
        *(b'{"fingerprint": "77", "document": []}', b'{"fingerprint": "77", "document": {"collection": "other"}}'),
    ],
)
def test_what_is_no_registration_is_refused_as_such(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"."):
        Registration.from_record(key, value)


def test_a_difference_in_a_long_list_is_shown_where_it_begins() -> None:
    here = Registration(name="films", fingerprint=b"", document={"items": ["brazil"] * 10_000 + ["dune", "heat"]})
    there = Registration(name="films", fingerprint=b"", document={"items": ["brazil"] * 10_000 + ["gravity"]})
    difference = there.differences(here)
    assert difference.startswith("items (registered: ...azil, brazil")
    assert difference.endswith("brazil, dune, heat)")
    assert "gravity; here: ..." in difference
    assert len(difference) < 300


def test_differences_are_named_by_their_part() -> None:
    def registration(size: int, *bins: object) -> Registration:
        return Registration(
            name="care",
            fingerprint=b"",
            document={"attributes": [{"name": "age", "size": size}, {"name": "diet", "size": 3}], "bins": [*bins]},
        )

    assert registration(2, 0).differences(registration(4, 0)) == "attributes.age.size (registered: 2; here: 4)"
    other = registration(2, {"from": 0}).differences(registration(2, "name"))
    assert other == "bins (registered: {'from': 0}; here: name)"


async def test_the_last_registration_of_a_name_is_the_one_that_counts(settings: Settings) -> None:
    await create_registry(settings)
    await register(settings, [Registration.of(collection_of())])
    changed = Registration.of(collection_of(window="hop: 30s"))
    await register(settings, [changed])
    assert await read_registry(settings) == {"care-survey": changed}


def test_a_conflict_is_reported_in_one_line_that_a_terminal_shows() -> None:
    ours = Registration.of(collection_of())
    theirs = Registration(
        name="care-survey", fingerprint=bytes(16), document={"a\nb": "\x1b]0;owned\x07", "collection": "care-survey"}
    )
    told = theirs.conflict(ours)
    assert told.isprintable()
    assert "a\\nb (registered: \\x1b]0;owned\\x07; here: none)" in told


def test_that_a_collection_is_paused_or_retired_is_read_as_it_is_written() -> None:
    known = Registration.of(collection_of())
    retired = replace(known, retirement=Retirement(topic_id="a1", ends=(3, 0)))
    for each, state in ((known, "served"), (retired, "retired"), (replace(retired, paused=True), "paused")):
        assert Registration.from_record(each.key, each.value) == each
        assert each.state == state
    with pytest.raises(ValueError, match="retired nowhere"):
        Registration.from_record(known.key, known.value[:-1] + b', "retired": {}}')
