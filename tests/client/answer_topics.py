"""Topics of answers in memory, for whatever reads them."""

from collections.abc import Iterator
from contextlib import contextmanager

from stream_ldp.collection import Collection
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Answer
from tests.client.examples import collection_of

SETTINGS = Settings.load(brokers="nowhere:1")


@contextmanager
def published(*answers: Answer | bytes, collection: Collection | None = None) -> Iterator[MemoryBroker]:
    """Let clients inside the block read these answers of a collection, or of the example of records."""
    collection, names = collection or collection_of(), SETTINGS.topic_names
    topic, provisional = names.answers(collection), names.provisional(collection.name)
    broker = MemoryBroker(topics={topic, provisional}, now_ms=10**12)
    for answer in answers:
        if isinstance(answer, bytes):
            broker.put(topic, answer)
        else:
            broker.put(topic if answer.final else provisional, answer.to_bytes(), key=answer.key)
    with connected(broker):
        yield broker
