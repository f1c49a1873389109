"""Tests of the access rules: the table in docs/deploy.md has them, and Kafka's own tool takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from stream_ldp.cli import app
from stream_ldp.cli.commands import _NotImported
from stream_ldp.collection import Topics
from stream_ldp.kafka.access import COMMANDS, Operation, Role, access_rules, rules_of
from stream_ldp.kafka.group_names import GroupNames
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicNames
from stream_ldp.kinds import parse_collection
from tests.paths import REPOSITORY

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
    names, topics = TopicNames(prefix="<prefix>"), Topics(answers="<answers>", rounds=True, records=True)
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
    assert {each for each in having if having.count(each) > 1} == {"synthesize"}


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
    assert shared == {"p.collections", "p.partials", "g.merge."}


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
