"""Tests of the access rules: the table in docs/deploy.md has them, and Kafka's own tool takes them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import typer
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_ldp.cli import app
from stream_ldp.cli.commands import _NotImported
from stream_ldp.collection import Topics
from stream_ldp.kafka.access import COMMANDS, AccessRule, Operation, Resource, Role, access_rules, rules_of
from stream_ldp.kafka.group_names import GroupNames
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicNames
from stream_ldp.kinds import parse_collection
from tests.kafka.names import collections, is_prefix, prefixes
from tests.paths import REPOSITORY

#: The topics of a collection that has every topic.
ALL = Topics(answers="estimates", rounds=True, records=True, rows=True)

#: How a table shows what is allowed.
LETTERS = {
    Operation.READ: "R",
    Operation.WRITE: "W",
    Operation.CREATE: "C",
    Operation.DELETE: "X",
    Operation.DESCRIBE: "D",
    Operation.DESCRIBE_CONFIGS: "DC",
}


def table() -> list[str]:
    """Write the rules of all kinds of users as a table, for a collection that has every topic."""
    names, topics = TopicNames(prefix="<prefix>"), replace(ALL, answers="<answers>")
    cells: dict[str, dict[Role, list[str]]] = {}
    for role in Role:
        for rule in rules_of(role, "<collection>", topics, names=names, groups=GroupNames(prefix="<group>")):
            of = f"{rule.resource} `{rule.name}{'*' if rule.prefixed else ''}`"
            cells.setdefault(of, {}).setdefault(role, []).append(LETTERS[rule.operation])
    rows = [[of, *(" ".join(cells[of].get(role, ())) for role in Role)] for of in sorted(cells, reverse=True)]
    head = ["", *(f"`{role}`" for role in Role)]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def test_the_page_on_deploying_has_the_rules_of_all_users() -> None:
    page = (REPOSITORY / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in page
    for role in Role:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{role}` |"))
        assert all(f"`{command.split()[0]}" in row for command in COMMANDS[role])


def test_every_command_that_reaches_the_brokers_is_that_of_a_role() -> None:
    having = [command.partition(" --")[0] for commands in COMMANDS.values() for command in commands]
    assert set(having) == set(_commands(typer.main.get_command(app)))
    assert {each for each in having if having.count(each) > 1} == {"synthesize", "query", "watch", "page"}


def _commands(command: Any, *path: str) -> Iterator[str]:
    """Yield the commands that have the option --brokers."""
    context = command.context_class(command)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), *path, name)
    elif isinstance(command, _NotImported):
        yield from _commands(command._imported(), *path)
    elif any("--brokers" in parameter.opts for parameter in command.params):
        yield " ".join(path)


def test_two_collections_share_what_is_about_no_one_of_them() -> None:
    text = (REPOSITORY / "deploy" / "base" / "collections" / "survey.yaml").read_text(encoding="utf-8")
    collection = parse_collection(text, source="survey.yaml")
    other = parse_collection(text.replace(f"collection: {collection.name}", "collection: other"), source="other.yaml")
    settings = Settings.load(topic_prefix="p", group="g")
    one, both = (
        access_rules(Role.WORKER, collections, settings=settings)
        for collections in ([collection], [collection, other])
    )
    assert set(one) < set(both)
    assert len(both) == len(set(both))
    shared = {rule.name for rule in one if collection.name not in rule.name}
    assert shared == {"p.collections", "p.partials", "g._ingest", "g._merge."}


def test_a_rule_is_added_by_the_arguments_of_kafkas_own_tool() -> None:
    names = TopicNames(prefix="p")
    create, *_ = rules_of(
        Role.DEPLOYER, "care", Topics(answers="estimates"), names=names, groups=GroupNames(prefix="g")
    )
    assert " ".join(create.arguments("User:ada")) == (
        "--add --allow-principal User:ada --operation Create --topic p. --resource-pattern-type prefixed"
    )
    (report,) = rules_of(Role.CLIENT, "care", Topics(answers="estimates"), names=names, groups=GroupNames(prefix="g"))
    assert " ".join(report.arguments("User:ada")) == (
        "--add --allow-principal User:ada --operation Write --topic p.care.reports"
    )


def _reaches(rule: AccessRule, resource: Resource, name: str) -> bool:
    return rule.resource is resource and (name.startswith(rule.name) if rule.prefixed else name == rule.name)


def _resources(prefix: str, collection: str) -> list[tuple[Resource, str]]:
    """Name what a deployment with one collection has, of every kind."""
    names, groups = TopicNames(prefix=prefix), GroupNames(prefix=prefix)
    topics = [names.reports(collection), names.answers_of(collection, ALL.answers), names.rounds(collection)]
    topics += [
        names.provisional(collection),
        names.records(collection),
        names.rows_of(collection, ALL.answers),
        names.dead_letters(collection),
        names.partials,
        names.collections,
    ]
    found = [*groups.of(collection), groups.merge([collection])]
    return [
        *((Resource.TOPIC, name) for name in topics),
        *((Resource.GROUP, name) for name in found),
        (Resource.TRANSACTIONAL_ID, names.answers_of(collection, ALL.answers)),
    ]


@given(st.sampled_from(Role), prefixes, collections, st.sampled_from(["", ".", "-", "_"]), prefixes, collections)
def test_no_rule_reaches_what_is_another_deployments(
    role: Role, prefix: str, collection: str, joint: str, more: str, other: str
) -> None:
    neighbour = f"{prefix}{joint}{more}"
    assume(is_prefix(neighbour))
    rules = list(rules_of(role, collection, ALL, names=TopicNames(prefix=prefix), groups=GroupNames(prefix=prefix)))
    reached = [name for rule in rules for kind, name in _resources(neighbour, other) if _reaches(rule, kind, name)]
    assert reached == []


@given(prefixes, collections, collections)
def test_a_worker_commits_for_no_other_collection(prefix: str, collection: str, other: str) -> None:
    assume(collection != other)
    groups = GroupNames(prefix=prefix)
    rules = rules_of(Role.WORKER, collection, ALL, names=TopicNames(prefix=prefix), groups=groups)
    assert not [group for rule in rules for group in groups.of(other) if _reaches(rule, Resource.GROUP, group)]
