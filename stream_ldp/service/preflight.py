"""Check the cluster before a worker starts: Faust would wait without end for a missing topic."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import NEW_NAME, Registration
from stream_ldp.kafka.registry_log import read_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import ExistingTopic, TopicSpec, topic_specs

CHANGE_TOPIC = (
    "change it with Kafka's kafka-configs.sh or kafka-topics.sh, or ask for what is there "
    "(--partitions, --partials-partitions)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A problem that keeps a worker from starting, and what to do about it."""

    what: str
    cure: str


class PreflightError(StreamLDPError, RuntimeError):
    """The worker must not start; the message lists the problems, those with the same cure together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        cures = dict.fromkeys(problem.cure for problem in problems)
        super().__init__(
            "\n".join(
                "\n".join([*(each.what for each in problems if each.cure == cure), f"  -> {cure}"]) for cure in cures
            )
        )


async def preflight(
    settings: Settings, collections: Mapping[str, Collection], *, served: bool = True
) -> dict[str, int]:
    """Check brokers, topics and registry for the collections, which are keyed by their files.

    served: whether they have to be served as the files say; what only looks may look at those of former times.

    Returns:
        The number of partitions of every topic.

    Raises:
        BrokerUnreachable, SettingsError: no broker can be reached.
        ClusterError, RegistryError: this user may not describe a topic, or the registry is damaged.
        PreflightError: a topic is missing or unsuitable, or a collection is not the one that is registered.
    """
    specs = topic_specs(
        collections.values(), prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions
    )
    create = create_command(settings, collections)
    async with Cluster.connect(settings) as cluster:
        existing = await cluster.topics([spec.name for spec in specs])
    problems = list(topic_problems(specs, existing, create))
    if settings.topic_names.collections in existing:
        registry = await read_registry(settings)
        problems += registry_problems(collections.values(), registry, create, served=served)
    if problems:
        raise PreflightError(problems)
    return {name: topic.partitions for name, topic in existing.items()}


async def check_topics(cluster: Cluster, settings: Settings, collection: Collection) -> None:
    """Check the topics of a collection that is registered.

    Raises:
        KafkaError: the brokers cannot be asked.
        ClusterError: this user may not describe a topic.
        PreflightError: a topic is missing or unsuitable.
    """
    specs = topic_specs([collection], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    existing = await cluster.topics([spec.name for spec in specs])
    if problems := list(topic_problems(specs, existing, create_command(settings, [f"{collection.name}.yaml"]))):
        raise PreflightError(problems)


async def check_fences(cluster: Cluster, settings: Settings, collections: Iterable[Collection]) -> None:
    """Check that this user can publish final answers of the collections: nobody else needs to.

    Raises:
        KafkaError: the brokers cannot be asked.
        ClusterError: see `Cluster.check_fence`.
    """
    for collection in collections:
        await cluster.check_fence(settings.topic_names.answers(collection))


def create_command(settings: Settings, collections: Iterable[str]) -> str:
    """Return the command that creates the topics of collections, given by their files, and registers them."""
    return f"stream-ldp topics create {shlex.join(collections)} {settings.flags()}"


def topic_problems(
    specs: Sequence[TopicSpec], existing: Mapping[str, ExistingTopic], create: str
) -> Iterator[Problem]:
    """Find topics that are missing or unsuitable; `create` is the command that creates them."""
    for spec in specs:
        if spec.name not in existing:
            yield Problem(what=f"topic {spec.name} does not exist", cure=f"create it: {create}")
        for what in spec.problems(existing):
            yield Problem(what=what, cure=CHANGE_TOPIC)


def registry_problems(
    collections: Iterable[Collection], registry: Mapping[str, Registration], create: str, *, served: bool = True
) -> Iterator[Problem]:
    """Find collections that are not as registered.

    create: the command that registers them.
    served: see `preflight`.
    """
    for here in map(Registration.of, collections):
        known = registry.get(here.name)
        if known is None:
            yield Problem(what=f"collection {here.name} is not registered", cure=f"register it: {create}")
        elif known.fingerprint != here.fingerprint:
            yield Problem(what=known.conflict(here), cure=NEW_NAME)
        elif not served:
            continue
        elif known.state != here.state:
            yield Problem(what=f"collection {here.name} is {known.state}", cure=f"to have it served: {create}")
        elif known != here:
            yield Problem(
                what=f"collection {here.name} has changed since it was registered: {known.differences(here)}",
                cure=f"stop the workers that have its file, then register it again: {create}",
            )
