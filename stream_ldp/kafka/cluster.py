"""Administer the Kafka cluster: which topics there are, how they are set up, and who reads them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.client import CoordinationType
from aiokafka.conn import CloseReason
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata
from aiokafka.errors import (
    CorruptRecordException,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    IllegalGenerationError,
    IncompatibleBrokerVersion,
    NoError,
    NotCoordinatorForGroupError,
    RebalanceInProgressError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.commit import OffsetCommitRequest

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.access import Operation
from stream_ldp.kafka.connection import BrokerUnreachable, check_connection
from stream_ldp.kafka.protocol import DeleteGroups, DescribeOperations, DescribeTopics
from stream_ldp.kafka.topics import ExistingTopic, TopicSpec
from stream_ldp.pipeline.topic_identity import TopicIdentity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from aiokafka import TopicPartition
    from aiokafka.structs import OffsetAndMetadata

    from stream_ldp.kafka.settings import Settings

#: Of three replicas, one may fail while another is restarted, and no report is lost.
USUAL_REPLICATION = 3
#: Seconds for a new topic to get its leaders, or the first group its coordinator; both take well under a second.
LEADER_SECONDS = 10.0

#: Numbers of operations in the protocol.
_BITS = {
    Operation.READ: 3,
    Operation.WRITE: 4,
    Operation.CREATE: 5,
    Operation.DELETE: 6,
    Operation.DESCRIBE: 8,
    Operation.DESCRIBE_CONFIGS: 10,
}


#: What a group that has members answers to a commit from outside.
REFUSED_WHILE_MEMBERS = (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError)


class ClusterError(StreamLDPError, RuntimeError):
    """The cluster refused a request."""


class NoCoordinator(ClusterError, BrokerUnreachable):
    """A group or a transactional id has no coordinator, as while its broker is away: that passes."""


class Cluster:
    """An open connection to the cluster's administration."""

    def __init__(self, admin: Any) -> None:
        self._admin = admin
        # By group, the broker that has last been its coordinator.
        self._coordinators: dict[str, int] = {}

    @classmethod
    @asynccontextmanager
    async def connect(cls, settings: Settings) -> AsyncIterator[Cluster]:
        """Connect for the length of an `async with` block.

        Raises:
            BrokerUnreachable, SettingsError: see `check_connection`.
        """
        await check_connection(settings)
        admin = AIOKafkaAdminClient(**settings.client_options())
        try:
            await admin.start()
            yield cls(admin)
        finally:
            await admin.close()

    def hang_up(self) -> None:
        """Close all connections: a caller who gives up before the client would ask a silent one again and again."""
        for connection in list(self._admin._client._conns.values()):
            connection.close(reason=CloseReason.CONNECTION_TIMEOUT)

    async def usual_replication(self) -> int:
        """Return USUAL_REPLICATION, or the number of brokers where there are fewer."""
        return min(USUAL_REPLICATION, await self.size())

    async def size(self) -> int:
        """Count the brokers."""
        return len((await self._admin.describe_cluster())["brokers"])

    async def groups(self) -> list[str]:
        """Name the consumer groups that this user may describe."""
        return [name for name, *_ in await self._admin.list_consumer_groups()]

    async def topics(self, names: Sequence[str]) -> dict[str, ExistingTopic]:
        """Describe those of the named topics that exist, by name.

        Raises:
            ClusterError: this user may not describe one of them.
        """
        found = {}
        for topic in await self._admin.describe_topics(list(names)):
            error = for_code(topic["error_code"])
            if error is UnknownTopicOrPartitionError:
                continue
            _raise_unless_fine(topic["topic"], topic["error_code"], None, needed="Describe")
            found[topic["topic"]] = topic["partitions"]
        configs = await self._configs(list(found))
        return {
            name: ExistingTopic(
                name=name,
                partitions=len(partitions),
                replication=min(len(partition["replicas"]) for partition in partitions),
                config=configs[name],
            )
            for name, partitions in found.items()
        }

    async def identities(self, names: Sequence[str]) -> dict[str, TopicIdentity]:
        """Return the ids and numbers of partitions of those of the named topics that exist, by name.

        Raises:
            KafkaError: the brokers cannot be asked, or do not say.
        """
        found = {}
        with _reading("topics"):
            answer = await self._admin._send_request(DescribeTopics(list(names)))
            for code, name, topic_id, _, partitions, *_ in answer.topics:
                error = for_code(code)
                if error is UnknownTopicOrPartitionError:
                    continue
                if code:
                    raise error(name)
                found[name] = TopicIdentity(id=topic_id, partitions=len(partitions))
        return found

    async def operations(self, names: Sequence[str]) -> dict[str, frozenset[Operation]]:
        """Return what this user may do with each of the named topics, as far as the brokers say.

        Brokers before Kafka 2.3 do not, and topics that are hidden or missing are left out.
        """
        try:
            answer = await self._admin._send_request(DescribeOperations(list(names)))
        except IncompatibleBrokerVersion:
            return {}
        return {
            name: frozenset(operation for operation, bit in _BITS.items() if bits & (1 << bit))
            for code, name, _, _, bits in answer.topics
            if code == 0
        }

    async def members(self, group: str, *, of: str | None = None) -> int:
        """Count the running members of a consumer group; 0 where there is no such group.

        of: a topic, to count those alone that subscribe to it. Of a group that assigns its partitions anew, nobody
            says who does: then all count.

        Raises:
            NoCoordinator: the group gets no coordinator within LEADER_SECONDS.
        """
        with _reading(f"group {group}"):
            answers = await _once_coordinated(f"group {group}", lambda: self._admin.describe_consumer_groups([group]))
            return sum(
                of is None or described[2] != "Stable" or _subscribes(member[3], of)
                for answer in answers
                for described in answer.groups
                for member in described[5]
            )

    async def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that a consumer group has committed, of those partitions that have one.

        Raises:
            NoCoordinator: the group gets no coordinator within LEADER_SECONDS.
        """
        return {partition: offset for partition, (offset, _) in (await self.commits(group, partitions)).items()}

    async def commits(
        self,
        group: str,
        partitions: Sequence[TopicPartition],
        *,
        seconds: float | None = None,
        of_known: bool = False,
    ) -> dict[TopicPartition, tuple[int, str]]:
        """Return what a consumer group has committed, offset and metadata; see `committed`.

        seconds: time for the group to get a coordinator; LEADER_SECONDS if not given.
        of_known: ask the broker that was the coordinator before, without a look at which one is; for what need not be
            the newest.
        """

        async def ask() -> dict[TopicPartition, OffsetAndMetadata]:
            async with self._coordinator(group, known=of_known) as coordinator:
                return await _committed_offsets(self._admin, group, partitions, coordinator=coordinator)

        commits = await _once_coordinated(f"group {group}", ask, seconds=seconds)
        return {
            partition: (commit.offset, commit.metadata) for partition, commit in commits.items() if commit.offset >= 0
        }

    async def commit(self, group: str, commits: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Commit offsets, with their metadata, for a consumer group that has no members.

        Raises:
            NoCoordinator: the group gets no coordinator within LEADER_SECONDS.
            KafkaError: the group has members, or the brokers refuse it for another reason.
        """
        by_topic: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for place, (offset, metadata) in commits.items():
            by_topic[place.topic].append((place.partition, offset, metadata))
        no_member = OffsetCommitRequest.DEFAULT_GENERATION_ID, "", OffsetCommitRequest.DEFAULT_RETENTION_TIME
        request = OffsetCommitRequest(group, *no_member, list(by_topic.items()))

        async def commit() -> None:
            async with self._coordinator(group, known=True) as coordinator:
                with _reading(f"group {group}"):
                    answer = await self._admin._send_request(request, coordinator)
                    for topic, partitions in answer.topics:
                        for partition, code in partitions:
                            if code:
                                raise for_code(code)(f"group {group} cannot commit for {topic} partition {partition}")

        await _once_coordinated(f"group {group}", commit)

    @asynccontextmanager
    async def _coordinator(self, group: str, *, known: bool) -> AsyncIterator[int]:
        """Have the coordinator of a group for the length of an `async with` block; after a failure, it is unknown.

        known: whether it may be the one that was found before, if there is any.
        """
        coordinator = self._coordinators.pop(group, None)
        if coordinator is None or not known:
            with _reading(f"group {group}"):
                coordinator = await self._admin.find_coordinator(group)
        yield coordinator
        self._coordinators[group] = coordinator

    async def check_fence(self, topic: str) -> None:
        """Check that this user can shut out others who write to a topic; see `FencedProducer`.

        Raises:
            ClusterError: it may not, or the brokers have no coordinator of transactions within LEADER_SECONDS.
        """
        lookup = self._admin._client.coordinator_lookup
        try:
            await _once_coordinated(f"transactional id {topic}", lambda: lookup(CoordinationType.TRANSACTION, topic))
        except TransactionalIdAuthorizationFailed as error:
            raise ClusterError(
                f"transactional id {topic}: this user needs an access rule that allows Write on it"
            ) from error

    async def create(self, specs: Sequence[TopicSpec], *, replication: int) -> None:
        """Create topics, and wait until they can be used. A topic that exists by now is left as it is.

        Raises:
            ClusterError: the cluster refuses one of them, or one gets no leader within LEADER_SECONDS.
        """
        if not specs:
            return
        answer = await self._admin.create_topics(
            [NewTopic(spec.name, spec.partitions, replication, topic_configs=dict(spec.config)) for spec in specs]
        )
        for name, code, message in answer.topic_errors:
            if for_code(code) is not TopicAlreadyExistsError:
                _raise_unless_fine(name, code, message, needed="Create")
        try:
            async with asyncio.timeout(LEADER_SECONDS):
                # Kafka sends no notice of a new leader: the only way to know is to ask again.
                while not await self._have_leaders([spec.name for spec in specs]):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise ClusterError(f"new topics have no leader after {LEADER_SECONDS:.0f} s") from error

    async def delete_topics(self, names: Sequence[str]) -> None:
        """Delete topics, with all that they hold.

        Raises:
            ClusterError: the cluster refuses one of them.
        """
        if not names:
            return
        answer = await self._admin.delete_topics(list(names))
        for name, code in answer.topic_error_codes:
            if for_code(code) is not UnknownTopicOrPartitionError:
                _raise_unless_fine(name, code, None, needed="Delete")

    async def delete_group(self, name: str) -> None:
        """Delete a consumer group, with all that it has committed.

        Raises:
            ClusterError: the cluster refuses it, such as while the group has members.
        """
        coordinator = await _once_coordinated(f"group {name}", lambda: self._admin.find_coordinator(name))
        answer = await self._admin._send_request(DeleteGroups([name]), coordinator)
        for _, code in answer.results:
            if code:
                error = for_code(code)
                raise ClusterError(f"group {name}: {error.description or error.__name__}")

    async def _have_leaders(self, names: Sequence[str]) -> bool:
        described = await self._admin.describe_topics(list(names))
        return all(
            topic["error_code"] == 0 and all(each["error_code"] == 0 for each in topic["partitions"])
            for topic in described
        )

    async def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found = {}
        for answer in await self._admin.describe_configs(resources):
            for code, message, _, name, entries in answer.resources:
                _raise_unless_fine(name, code, message, needed="DescribeConfigs")
                found[name] = {entry[0]: entry[1] for entry in entries}
        return found


def _subscribes(metadata: bytes, topic: str) -> bool:
    """Decide whether a member, as it describes itself, subscribes to a topic."""
    return topic in ConsumerProtocolMemberMetadata.decode(metadata).subscription


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Read an answer, for the length of a `with` block.

    No checksum covers it: one that was damaged on its way may lack a list, or have something else in its place.

    Raises:
        CorruptRecordException: it cannot be read, which passes.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise CorruptRecordException(f"the answer about {what} cannot be read: {error!r}") from error


async def _committed_offsets(
    admin: AIOKafkaAdminClient, group: str, partitions: Sequence[TopicPartition], *, coordinator: int
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what a group has committed for each of some partitions; an offset of -1 says that it has nothing.

    aiokafka passes over the error of a whole answer, which a coordinator that is still loading its group gives, and
    returns no partitions. Taken for a group that has committed nothing, its reports would be judged as late again,
    after they were counted.

    Raises:
        GroupLoadInProgressError: the coordinator has not said it of all of them.
        KafkaError: it cannot be asked.
    """
    try:
        with _reading(f"group {group}"):
            commits: dict[TopicPartition, OffsetAndMetadata] = await admin.list_consumer_group_offsets(
                group, group_coordinator_id=coordinator, partitions=list(partitions)
            )
    except NoError as error:  # aiokafka's name for an error of one partition
        raise GroupLoadInProgressError(str(error)) from error
    if commits.keys() != set(partitions):
        raise GroupLoadInProgressError(f"group {group}: {len(commits)} of {len(partitions)} partitions")
    return commits


async def _once_coordinated(what: str, ask: Callable[[], Awaitable[Any]], *, seconds: float | None = None) -> Any:
    """Ask about a group, or a transactional id, until it has a coordinator, or for LEADER_SECONDS.

    A cluster creates the coordinator when it is asked for the first, and moves it with the broker that it is on.
    """
    loop = asyncio.get_running_loop()
    seconds = LEADER_SECONDS if seconds is None else seconds
    until = loop.time() + seconds
    while True:
        try:
            # Without a limit of its own: a request that gets no answer says nothing about the coordinator.
            return await ask()
        except (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError) as error:
            if loop.time() >= until:
                raise NoCoordinator(f"{what} has no coordinator after {seconds:.0f} s") from error
        await asyncio.sleep(0.05)


def _raise_unless_fine(topic: str, code: int, message: str | None, *, needed: str) -> None:
    if code == 0:
        return
    error = for_code(code)
    if error is TopicAuthorizationFailedError:
        raise ClusterError(f"topic {topic}: this user needs an access rule that allows {needed} on it")
    raise ClusterError(f"topic {topic}: {message or error.description or error.__name__}")
