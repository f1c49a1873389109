"""Let partitions that nobody has counted yet join their collection, before they are counted."""

from collections.abc import Iterable

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.merge_commits import last_merge
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.closed_so_far import ClosedSoFar
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.partials import Watermark
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.service.windows_log import partials_log


class Joining:
    """The way by which source partitions join one collection: see `stream_ldp.pipeline.closed_so_far`."""

    def __init__(self, collection: Collection, *, settings: Settings, cluster: Cluster, producer: Producer) -> None:
        self._collection = collection
        self._settings = settings
        self._cluster = cluster
        self._producer = producer

    async def join(self, partitions: Iterable[int], *, topic: TopicIdentity, generation: int) -> ClosedSoFar:
        """Let the merge wait for partitions, and return what it may have closed without them.

        An owner that dies after this leaves a merge that waits for the next owner, and nothing else.

        topic: the reports topic, as it is now.
        generation: number of the ownership.

        Raises:
            KafkaError, ClusterError, TimeoutError: the brokers cannot be asked.
        """
        name, fingerprint = self._collection.name, self._collection.fingerprint.hex()
        names, region = self._settings.topic_names, self._settings.region
        place = partials.partition_of(name, partitions=self._settings.partials_partitions)
        # Acknowledged before the log is read: what is closed after this record is closed by a merge that waits.
        await self._producer.publish(
            [
                self._record(
                    Watermark(
                        collection=name,
                        fingerprint=fingerprint,
                        region=region,
                        partition=partition,
                        generation=generation,
                        time_ms=None,
                        topic=topic,
                        file=file_digest(self._collection) if region else "",
                    ),
                    topic=names.partials,
                    place=place,
                )
                for partition in partitions
            ]
        )
        begin = await last_merge(self._cluster, self._settings, self._collection)
        closed = ClosedSoFar()
        async for entry in partials_log(name, settings=self._settings, begin=0 if begin is None else begin.partials):
            if (watermark := entry.watermark_of(fingerprint)) is not None and watermark.region == region:
                closed.take(watermark)
        return closed

    @staticmethod
    def _record(watermark: Watermark, *, topic: str, place: int) -> Record:
        key, value = partials.encode(watermark, writer="")
        return Record(topic=topic, key=key, value=value, partition=place, headers=watermark.headers)
