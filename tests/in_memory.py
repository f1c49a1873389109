"""Fill a Kafka in memory with reports of the example collections."""

from stream_ldp import Reporter
from stream_ldp.client.batcher import batch_of
from stream_ldp.mechanisms import OSEntropy, SeededEntropy
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.pipeline.wire import encode
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond
from stream_ldp.testing import KafkaInMemory
from tests.client.rankings import films

#: The beginning of a window of all examples.
START_MS = 1_700_000_040_000


async def report(kafka: KafkaInMemory, collection: JointCollection, count: int, *, seed: int = 1) -> None:
    """Report for so many users, whose values are those of their numbers."""
    records = [tuple(user % size for size in collection.sizes) for user in range(count)]
    entropy = SeededEntropy(seed)
    async with Reporter(collection, settings=kafka.settings, clock=kafka.clock, entropy=entropy) as reporter:
        await reporter.report_many(records, secrets=None)


def rank_films(kafka: KafkaInMemory) -> list[Ranking]:
    """Let 2,000 users with the same set report to both phases of an epoch, and return its rankings."""
    collection, entropy = films(), SeededEntropy(3)
    sets = ItemSets.of([collection.encode(["Alien", "Brazil"])] * 2_000)
    asked, fingerprint = collection.method.first(), collection.fingerprint
    found: list[Ranking] = []
    epoch = kafka.clock() // collection.schedule.size_ms // collection.schedule.stride + 1
    for phase in (1, 2):
        kafka.broker.now_ms = max(kafka.clock(), collection.schedule.window_of(epoch, phase))
        batch = batch_of(
            respond(collection.method, asked, sets, entropy=entropy),
            fingerprint=fingerprint,
            time_ms=kafka.clock(),
            window=collection.window,
            entropy=OSEntropy(),
        )
        kafka.broker.put(
            kafka.settings.topic_names.reports("films"), encode(batch), key=batch.batch_id, headers=BATCH
        )
        found += kafka.close_windows()
        if found[-1].next_inquiry is not None and found[-1].next_fingerprint is not None:
            asked, fingerprint = found[-1].next_inquiry, found[-1].next_fingerprint
    return found
