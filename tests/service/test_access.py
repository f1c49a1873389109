"""Tests that the access rules in docs/deploy.md are enough for each kind of user, and that none can be left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from aiokafka.errors import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from stream_ldp.client import Reporter, Subscriber
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.settings import Settings
from tests.kafka.secured import PASSWORD, SecuredKafka
from tests.service.harness import JointDeployment, batches

USERS = ("client", "worker", "subscriber")

#: Seconds in which a worker with all that it needs is ready and has published a final, and then some.
WORKING_SECONDS = 40.0

#: A rule: the kind of a resource, its name, whether it is the beginning of names, and what is allowed.
Rule = tuple[ResourceType, str, ResourcePatternType, AclOperation]


@pytest.fixture(scope="module")
def guarded(kafka: EmbeddedKafka, certificates: Path) -> Iterator[SecuredKafka]:
    with SecuredKafka(certificates, users=USERS) as broker:
        yield broker


@pytest.fixture
def administrator(guarded: SecuredKafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": guarded.bootstrap})


def rules(user: str, prefix: str) -> list[Rule]:
    """Return what docs/deploy.md says that a user needs for a collection of records called `survey`."""
    topic, group = ResourceType.TOPIC, ResourceType.GROUP
    exact, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    read, write, configs = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE_CONFIGS
    reports, answers = f"{prefix}.survey.reports", f"{prefix}.survey.estimates"
    letters, partials, collections = f"{prefix}.survey.dead-letters", f"{prefix}.partials", f"{prefix}.collections"
    return {
        "client": [(topic, reports, exact, write)],
        "subscriber": [(topic, answers, exact, read)],
        "worker": [
            *((topic, name, exact, write) for name in (partials, answers, letters)),
            *((topic, name, exact, read) for name in (reports, partials, answers, collections)),
            *((topic, name, exact, configs) for name in (reports, partials, answers, letters, collections)),
            *((group, f"{prefix}.{name}", prefixed, read) for name in ("survey.ingest", "survey.released", "merge.")),
        ],
    }[user]


def allow(administrator: AdminClient, user: str, given: list[Rule]) -> None:
    """Let a user do what is given, and nothing else."""
    every = AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]  # of any name
        ResourcePatternType.ANY,
        f"User:{user}",
        None,  # type: ignore[arg-type]  # from any host
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    for future in administrator.delete_acls([every]).values():
        future.result(30)
    bindings = [
        AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operation in given
    ]
    for future in administrator.create_acls(bindings).values() if bindings else ():
        future.result(30)


class Installation:
    """A deployment on the guarded broker, with the users' settings."""

    def __init__(self, deployment: JointDeployment, guarded: SecuredKafka) -> None:
        self.deployment, self.guarded = deployment, guarded

    def settings(self, user: str) -> Settings:
        return Settings.load(**self.guarded.settings(user, topic_prefix=self.deployment.settings.topic_prefix))

    async def report(self) -> None:
        """Do what a client does."""
        async with Reporter(self.deployment.collection, settings=self.settings("client")) as reporter:
            await reporter.report_many(np.zeros((10, 2), dtype=np.int64), secrets=None)
            await reporter.flush()

    async def listen(self) -> None:
        """Do what a subscriber does."""
        name, settings = self.deployment.collection.name, self.settings("subscriber")
        async with Subscriber(name, settings=settings, from_beginning=True, follow=False) as answers:
            assert [answer async for answer in answers]

    async def work(self) -> None:
        """Do what a worker does: count, refuse a batch, publish a final, and stop in good order."""
        guarded = self.guarded.settings("worker")
        environment = {
            f"STREAM_LDP_{name.upper()}": str(value) for name, value in guarded.items() if name != "brokers"
        }
        through = self.deployment.settings.model_copy(update={"brokers": guarded["brokers"]})
        before = len(await self.deployment.finals())
        deployment = JointDeployment(**{**vars(self.deployment), "settings": through})
        now = time.time_ns() // 1_000_000
        good = batches(self.deployment.collection, [now] * 8, reports=3, rng=np.random.default_rng(1))
        await self.deployment.send([*good, b"no batch"])
        with deployment.worker(environment=environment) as worker:
            async with asyncio.timeout(WORKING_SECONDS):
                while len(await self.deployment.finals()) <= before or "refused as too_short" not in worker.log:
                    if worker.process.poll() is not None:
                        raise StreamLDPError(f"ended with {worker.process.returncode}: {worker.log[-500:]}")
                    await asyncio.sleep(0.3)
            assert PASSWORD not in worker.log


@pytest.fixture
async def installation(tmp_path: Path, guarded: SecuredKafka, prefix: str) -> Installation:
    deployment = await JointDeployment.create(tmp_path, brokers=guarded.bootstrap, prefix=prefix)
    return Installation(deployment, guarded)


#: What each user does.
DEEDS: dict[str, Callable[[Installation], Awaitable[None]]] = {
    "client": Installation.report,
    "worker": Installation.work,
    "subscriber": Installation.listen,
}


async def test_the_access_rules_are_enough_for_clients_workers_and_subscribers(
    installation: Installation, administrator: AdminClient, prefix: str
) -> None:
    for user in USERS:
        allow(administrator, user, rules(user, prefix))
    for user in USERS:
        await DEEDS[user](installation)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("user", USERS)
async def test_no_access_rule_can_be_left_out(
    installation: Installation, administrator: AdminClient, prefix: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_LDP_OUTAGE", "5s")
    monkeypatch.setattr("tests.service.test_access.WORKING_SECONDS", 20.0)
    allow(administrator, user, rules(user, prefix))
    if user == "subscriber":
        allow(administrator, "worker", rules("worker", prefix))
        await installation.work()
    await DEEDS[user](installation)
    spare = []
    for rule in rules(user, prefix):
        allow(administrator, user, [each for each in rules(user, prefix) if each != rule])
        try:
            await DEEDS[user](installation)
        except (StreamLDPError, KafkaError, TimeoutError):
            continue
        spare.append(rule)
    assert spare == []
