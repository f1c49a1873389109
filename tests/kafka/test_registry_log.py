"""Tests of the registry as it is followed."""

from dataclasses import replace

from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.registry import Registration, read_registration, register
from stream_ldp.kafka.registry_log import RegistryLog, read_registry, read_registry_log
from stream_ldp.kafka.settings import Settings
from tests.client.examples import collection_of

SETTINGS = Settings(brokers="memory:1")
TOPIC = SETTINGS.topic_names.collections


async def test_the_newest_registration_holds_and_a_record_that_is_none_is_named() -> None:
    broker = MemoryBroker(topics={TOPIC}, now_ms=0)
    known = Registration.of(collection_of())
    with connected(broker):
        registry = RegistryLog(SETTINGS)
        await registry.start()
        broker.put(TOPIC, known.value, key=known.key)
        await registry.read()
        assert registry.registered == {"care-survey": known}
        paused = replace(known, paused=True)
        broker.put(TOPIC, paused.value, key=paused.key)
        broker.put(TOPIC, b"junk", key=known.key)
        broker.put(TOPIC, b"junk", key=b"\xff\x1b")
        await registry.read()
        assert registry.registered == {"care-survey": paused}, "what was registered before junk holds"
        assert set(registry.unreadable) == {"care-survey", "\ufffd\\x1b"}
        assert f"offset 2 of topic {TOPIC} is not a registration" in registry.unreadable["care-survey"]
        broker.put(TOPIC, known.value, key=known.key)
        await registry.read()
        assert set(registry.unreadable) == {"\ufffd\\x1b"}
        assert registry.registered == {"care-survey": known}
        await registry.stop()


async def test_a_name_that_is_removed_is_neither_registered_nor_unreadable() -> None:
    broker = MemoryBroker(topics={TOPIC}, now_ms=0)
    known = Registration.of(collection_of())
    with connected(broker):
        broker.put(TOPIC, known.value, key=known.key)
        broker.put(TOPIC, b"junk", key=b"other")
        await register(SETTINGS, [], removed=["care-survey", "other"])
        for sent in broker.sent:
            broker.put(TOPIC, sent.value, key=sent.key)
        registry = await read_registry_log(SETTINGS)
        assert (registry.registered, registry.unreadable) == ({}, {})
        assert await read_registry(SETTINGS) == {}
        assert await read_registration(SETTINGS, "care-survey") is None
        broker.put(TOPIC, known.value, key=known.key)
        assert await read_registry(SETTINGS) == {"care-survey": known}
