"""A name means what was registered last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import Registration, read_registry, register
from stream_ldp.kafka.topics import topic_specs
from tests.client.examples import collection_of

if TYPE_CHECKING:
    from stream_ldp.kafka.settings import Settings


async def test_the_last_registration_of_a_name_is_the_one_that_counts(settings: Settings) -> None:
    specs = topic_specs([collection_of()], prefix=settings.topic_prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    await register(settings, [Registration.of(collection_of())])
    changed = Registration.of(collection_of(window="hop: 30s"))
    await register(settings, [changed])
    assert await read_registry(settings) == {"care-survey": changed}
