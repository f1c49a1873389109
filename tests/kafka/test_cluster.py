"""These tests hold the messages of a cluster to those who set it up."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest
from aiokafka.errors import (
    CorruptRecordException,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)
from aiokafka.structs import TopicPartition

from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.patience import passes
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from tests.client.examples import collection_of


async def test_a_topic_the_cluster_cannot_create_is_refused_in_the_clusters_words(settings: Settings) -> None:
    specs = topic_specs([collection_of()], prefix=settings.topic_prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        with pytest.raises(ClusterError, match="replication factor of 3 cannot be reached because only 1 broker"):
            await cluster.create(specs, replication=3)


async def test_an_underscore_in_a_collections_name_takes_no_topic_of_another_deployment(settings: Settings) -> None:
    for prefix, name in ((settings.topic_prefix, "b_survey"), (f"{settings.topic_prefix}-b", "survey")):
        async with Cluster.connect(settings) as cluster:
            await cluster.create(
                topic_specs([collection_of(name=name)], prefix=prefix, partials_partitions=1), replication=1
            )
    dotted = topic_specs([collection_of(name="survey")], prefix=f"{settings.topic_prefix}.b", partials_partitions=1)
    async with Cluster.connect(settings) as cluster:
        # Why a prefix has no dot, and no underscore.
        with pytest.raises(ClusterError, match="collides with existing topic"):
            await cluster.create(dotted, replication=1)


async def test_the_usual_replication_is_no_more_than_the_brokers_can_carry(settings: Settings) -> None:
    async with Cluster.connect(settings) as cluster:
        assert await cluster.usual_replication() == 1


async def test_a_slow_answer_about_a_group_is_not_taken_for_the_lack_of_its_coordinator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_ldp.kafka.cluster.LEADER_SECONDS", 0.0)

    async def answer_late(groups: list[str]) -> list[SimpleNamespace]:
        await asyncio.sleep(0.01)
        return [SimpleNamespace(groups=[("", "g", "Stable", "consumer", "", ["member"], 0)])]

    async def refuse(groups: list[str]) -> None:
        raise GroupCoordinatorNotAvailableError

    admin = SimpleNamespace(describe_consumer_groups=answer_late)
    assert await Cluster(admin).members("g") == 1
    admin.describe_consumer_groups = refuse
    with pytest.raises(ClusterError, match="group g has no coordinator after 0 s"):
        await Cluster(admin).members("g")


@pytest.mark.parametrize(
    "ask",
    [
        lambda cluster: cluster.identities(["t"]),
        lambda cluster: cluster.members("g"),
        lambda cluster: cluster.commits("g", [TopicPartition("t", 0)]),
        lambda cluster: cluster.commit("g", {TopicPartition("t", 0): (1, "")}),
    ],
)
async def test_an_answer_that_was_damaged_on_its_way_passes(ask: Callable[[Cluster], Awaitable[object]]) -> None:
    async def find(group: str) -> int:
        return 1

    async def lists_gone(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(topics=[(0, "t", "id", False, None)], groups=None)

    async def commits_gone(*_: object, **__: object) -> None:
        raise TypeError("'NoneType' object is not iterable")

    admin = SimpleNamespace(
        find_coordinator=find,
        _send_request=lists_gone,
        describe_consumer_groups=lists_gone,
        list_consumer_group_offsets=commits_gone,
    )
    with pytest.raises(CorruptRecordException) as raised:
        await ask(Cluster(admin))
    assert passes(raised.value)


async def test_a_commit_waits_for_the_first_coordinator_of_its_group() -> None:
    failures = [GroupCoordinatorNotAvailableError, GroupLoadInProgressError]
    committed = []

    async def find(group: str) -> int:
        if len(failures) == 2:
            raise failures.pop(0)
        return 1

    async def send(request: object, node: int) -> SimpleNamespace:
        code = failures.pop().errno if failures else 0
        committed.append(code)
        return SimpleNamespace(topics=[("t", [(0, code)])])

    await Cluster(SimpleNamespace(find_coordinator=find, _send_request=send)).commit(
        "g", {TopicPartition("t", 0): (1, "")}
    )
    assert committed == [GroupLoadInProgressError.errno, 0]


async def test_a_commit_goes_to_the_coordinator_before_until_that_is_another() -> None:
    """Hundreds of collections would ask for it with each commit; and a broker that is none any more says so."""
    coordinators, found, asked = iter([1, 2, 3]), [], []

    async def find(group: str) -> int:
        found.append(next(coordinators))
        return found[-1]

    async def send(request: object, node: int) -> SimpleNamespace:
        asked.append(node)
        moved = len(asked) == 3
        return SimpleNamespace(topics=[("t", [(0, NotCoordinatorForGroupError.errno if moved else 0)])])

    cluster = Cluster(SimpleNamespace(find_coordinator=find, _send_request=send))
    for offset in range(4):
        await cluster.commit("g", {TopicPartition("t", 0): (offset, "")})
    assert asked == [1, 1, 1, 2, 2], "the third was refused"
    assert found == [1, 2]


async def test_a_topic_that_is_made_again_has_another_id(settings: Settings) -> None:
    specs = topic_specs([collection_of()], prefix=settings.topic_prefix, partials_partitions=4, reports_partitions=3)
    name = settings.topic_names.reports(collection_of().name)
    async with Cluster.connect(settings) as cluster:
        assert await cluster.identities([name]) == {}
        await cluster.create(specs, replication=1)
        first = (await cluster.identities([name, "none"]))[name]
        assert first.partitions == 3
        await cluster.delete_topics([name])
        await cluster.create([spec for spec in specs if spec.name == name], replication=1)
        async with asyncio.timeout(30):
            while (again := (await cluster.identities([name])).get(name, first)).id == first.id:
                await asyncio.sleep(0.1)
        assert again.partitions == 3
