"""What each kind of user may do on a cluster with access rules: enough, and no more."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from stream_ldp.collection import Collection, Topics
from stream_ldp.collection.synthesis import topics_of
from stream_ldp.kafka.group_names import GroupNames
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicNames


class Role(StrEnum):
    """A kind of user, who needs an account of its own on the cluster."""

    CLIENT = "client"
    """Clients and gateways."""
    WORKER = "worker"
    """Workers."""
    READER = "reader"
    """Subscribers to final answers, `query`, `watch --finals`, `page --finals`, and `synthesize --published`."""
    WATCHER = "watcher"
    """Subscribers, pages, `watch`, and `query --provisional`: readers of the answers of open windows as well."""
    ANALYST = "analyst"
    """A user of `replay` or `synthesize`: reads as much as the service sees."""
    DEPLOYER = "deployer"
    """A user of `topics`."""
    OPERATOR = "operator"
    """A user of `doctor`, `dead-letters`, `quarantine` and `inspect`."""
    RESETTER = "resetter"
    """A user of `reset`, which deletes."""


#: The commands of each kind of user, all that reach the brokers.
COMMANDS = {
    Role.CLIENT: ("report", "simulate", "gateway"),
    Role.WORKER: ("worker",),
    Role.READER: ("query", "watch --finals", "page --finals", "synthesize --published", "export", "explain"),
    Role.WATCHER: ("query --provisional", "watch", "page"),
    Role.ANALYST: ("replay", "synthesize"),
    Role.DEPLOYER: ("topics create", "topics list", "topics retire", "topics registry", "topics acls"),
    Role.OPERATOR: (
        "doctor",
        "dead-letters list",
        "dead-letters replay",
        "quarantine list",
        "quarantine release",
        "inspect collection",
        "inspect record",
    ),
    Role.RESETTER: ("reset groups", "reset position", "reset topics"),
}


class Resource(StrEnum):
    """What a rule is about."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"


class Operation(StrEnum):
    """What a rule allows, in the words of Kafka; Read, Write and Delete allow Describe as well."""

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessRule:
    """A rule that allows one operation.

    name: that of the resource, or if `prefixed`, the beginning of the names of several.
    """

    resource: Resource
    name: str
    operation: Operation
    prefixed: bool = False

    def arguments(self, principal: str) -> list[str]:
        """Return the arguments of Kafka's kafka-acls.sh that add the rule, without those that reach the cluster.

        principal: the user as brokers know it, such as User:worker.
        """
        pattern = ["--resource-pattern-type", "prefixed"] if self.prefixed else []
        what = [f"--{self.resource}", self.name, *pattern]
        return ["--add", "--allow-principal", principal, "--operation", self.operation, *what]


def access_rules(role: Role, collections: Iterable[Collection], *, settings: Settings) -> tuple[AccessRule, ...]:
    """Return what a kind of user needs for some collections, each rule once."""
    names, groups = settings.topic_names, settings.group_names
    found = [
        rule
        for each in collections
        for rule in rules_of(role, each.name, topics_of(each), names=names, groups=groups)
    ]
    return tuple(dict.fromkeys(found))


def rules_of(
    role: Role, collection: str, topics: Topics, *, names: TopicNames, groups: GroupNames
) -> Iterator[AccessRule]:
    """Yield what a kind of user needs for one collection, given by name and its topics."""
    read, write, configs = Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS
    reports, letters = names.reports(collection), names.dead_letters(collection)
    answers, provisional = names.answers_of(collection, topics.answers), names.provisional(collection)
    rounds = [names.rounds(collection)] if topics.rounds else []
    made = [names.records(collection)] if topics.records else []
    made += [names.rows_of(collection, topics.answers)] if topics.rows else []
    match role:
        case Role.CLIENT:
            yield from _on_topics(write, reports)
            yield from _on_topics(read, *rounds)
        case Role.WORKER:
            yield from _on_topics(read, names.collections, names.partials, reports, answers, *rounds)
            yield from _on_topics(write, names.partials, answers, provisional, letters, *rounds, *made)
            own = reports, answers, provisional, letters, *rounds, *made
            yield from _on_topics(configs, names.collections, names.partials, *own)
            for group in (groups.ingest, *groups.of(collection)):
                yield AccessRule(resource=Resource.GROUP, name=group, operation=read)
            yield AccessRule(resource=Resource.TRANSACTIONAL_ID, name=answers, operation=write)
            # Its last part says which collections are merged together.
            yield _on_all(Resource.GROUP, groups.merges, read)
        case Role.READER:
            yield from _on_topics(read, answers, *made)
        case Role.WATCHER:
            yield from _on_topics(read, answers, provisional)
        case Role.ANALYST:
            yield from _on_topics(read, reports, answers, letters)
        case Role.DEPLOYER:
            for operation in (Operation.CREATE, Operation.DESCRIBE, configs):
                yield _on_all(Resource.TOPIC, names.prefix, operation)
            yield from _on_topics(read, names.collections)
            yield from _on_topics(write, names.collections)
            yield _on_all(Resource.GROUP, groups.prefix, Operation.DESCRIBE)
            # To shut out workers that have not seen a change.
            yield _on_all(Resource.TRANSACTIONAL_ID, names.prefix, write)
        case Role.OPERATOR:
            for operation in (read, configs):
                yield _on_all(Resource.TOPIC, names.prefix, operation)
            yield from _on_topics(write, reports)
            yield _on_all(Resource.GROUP, groups.prefix, read)
        case Role.RESETTER:
            yield from _on_topics(read, names.collections, names.partials, reports, answers)
            yield _on_all(Resource.TOPIC, names.prefix, configs)
            yield from _on_topics(Operation.DELETE, reports, answers, provisional, letters, *rounds, *made)
            for operation in (read, Operation.DELETE):
                yield _on_all(Resource.GROUP, groups.prefix, operation)


def _on_topics(operation: Operation, *names: str) -> Iterator[AccessRule]:
    for name in names:
        yield AccessRule(resource=Resource.TOPIC, name=name, operation=operation)


def _on_all(resource: Resource, first: str, operation: Operation) -> AccessRule:
    """Return the rule for all names that begin with this part."""
    return AccessRule(resource=resource, name=f"{first}.", operation=operation, prefixed=True)
