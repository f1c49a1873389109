"""Tests that the access rules of each kind of user are enough on a real broker, and that none can be left out."""

import asyncio
import base64
import itertools
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import aiohttp
import numpy as np
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.client.reporter import Reporter, now_ms
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.gateway.limiter import Limiter
from stream_ldp.gateway.server import Door, Gateway, Source
from stream_ldp.kafka.access import COMMANDS, AccessRule, Operation, Resource, Role, access_rules
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import load_collection
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.answer import WindowBounds, answer_key
from stream_ldp.pipeline.content_type import BATCH_TYPE
from stream_ldp.service import pausing
from tests.forked import Forked
from tests.kafka.secured import PASSWORD, SecuredKafka, token
from tests.listening import listening
from tests.service.epochs import FILMS, ItemDeployment, Users, film_sets, next_epoch
from tests.service.harness import SURVEY, Deployment, JointDeployment, WorkerProcess, batches

#: Seconds in which a worker with all that it needs is ready and has published a final, on a busy machine as well.
WORKING_SECONDS = 90.0

LOUD_WORKER = Path(__file__).with_name("loud_worker.py")


#: A survey with synthetic records, so that it has every topic that a collection of records may have.
RECORDED_SURVEY = f"{SURVEY}synthesis: {{{{records: 50}}}}\n"


class Refused(StreamLDPError):
    """A command did not do what it is there for."""


@pytest.fixture
def administrator(kafka: SecuredKafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap})


def allow(administrator: AdminClient, role: Role, rules: Sequence[AccessRule]) -> None:
    """Let a user follow the rules, and do nothing else."""
    every = AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]  # of any name
        ResourcePatternType.ANY,
        f"User:{role}",
        None,  # type: ignore[arg-type]  # from any host
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    for future in administrator.delete_acls([every]).values():
        future.result(30)
    bindings = [
        AclBinding(
            ResourceType[each.resource.name],
            each.name,
            ResourcePatternType.PREFIXED if each.prefixed else ResourcePatternType.LITERAL,
            f"User:{role}",
            "*",
            AclOperation[each.operation.name],
            AclPermissionType.ALLOW,
        )
        for each in rules
    ]
    for future in administrator.create_acls(bindings).values() if bindings else ():
        future.result(30)
    # The broker follows what the controller has taken.
    deadline = time.monotonic() + 30
    while set(administrator.describe_acls(every).result(30)) != set(bindings):
        assert time.monotonic() < deadline, "the rules do not hold"
        time.sleep(0.02)


class Installation:
    """A deployment on the broker, and what each kind of user does there."""

    def __init__(self, deployment: Deployment, kafka: SecuredKafka) -> None:
        self.deployment, self.kafka = deployment, kafka
        self.numbers = itertools.count()
        #: What has been run, by the names of the commands.
        self.commands: set[str] = set()

    @property
    def deeds(self) -> Mapping[Role, Callable[[], Awaitable[None]]]:
        """What each kind of user does."""
        raise NotImplementedError

    def rules(self, role: Role) -> Sequence[AccessRule]:
        return access_rules(role, [self.deployment.collection], settings=self.deployment.settings)

    def settings(self, role: Role) -> Settings:
        return Settings.load(**self.kafka.settings(role, topic_prefix=self.deployment.settings.topic_prefix))

    def environment(self, role: Role) -> dict[str, str]:
        given = self.kafka.settings(role, topic_prefix=self.deployment.settings.topic_prefix)
        return {f"{ENVIRONMENT_PREFIX}{name.upper()}": str(value) for name, value in given.items()}

    def worker(self, **others: str) -> WorkerProcess:
        """Make a worker that logs all; `others` are settings by which it differs from the rest."""
        brokers = self.settings(Role.WORKER).brokers
        through = replace(self.deployment, settings=self.deployment.settings.model_copy(update={"brokers": brokers}))
        # PLAIN sends the password itself, which a log of all that is sent would show.
        environment = {
            **self.environment(Role.WORKER),
            f"{ENVIRONMENT_PREFIX}SASL_MECHANISM": "PLAIN",
            **{f"{ENVIRONMENT_PREFIX}{name.upper()}": value for name, value in others.items()},
        }
        self.commands.add("worker")
        return through.worker(program=LOUD_WORKER, environment=environment)

    async def until(self, done: Callable[[], Awaitable[bool]], worker: WorkerProcess) -> None:
        """Wait while a worker works."""
        try:
            async with asyncio.timeout(WORKING_SECONDS):
                while not await done():
                    if worker.process.poll() is not None:
                        raise Refused(f"ended with {worker.process.returncode}: {worker.log[-500:]}")
                    await asyncio.sleep(0.3)
        except TimeoutError as error:
            raise Refused(f"not done after {WORKING_SECONDS:.0f} s: {worker.log[-1_500:]}") from error
        assert "SaslAuthenticate" in worker.log
        assert PASSWORD not in worker.log

    @asynccontextmanager
    async def gateway(self) -> AsyncIterator[aiohttp.ClientSession]:
        source = Source(collection=self.deployment.collection, text="")
        door = Door(limiter=Limiter(rate=100, burst=100))
        self.commands.add("gateway")
        served = Gateway([source], settings=self.settings(Role.CLIENT), door=door, now_ms=now_ms)
        async with listening(served) as url, aiohttp.ClientSession(url) as client:
            yield client

    async def post(self, batch: bytes) -> None:
        """Report through a gateway."""
        place, headers = "/v1/collections/survey/batches", {"Content-Type": BATCH_TYPE}
        async with self.gateway() as client, client.post(place, data=batch, headers=headers) as answer:
            if answer.status != 200:
                raise Refused(await answer.text())

    async def run(
        self, role: Role, command: str, *words: str | Path, says: Sequence[str] = (), code: int = 0
    ) -> None:
        """Run a command, as `COMMANDS` names it, which has to end with this status and to print this."""
        environment = self.environment(role)
        arguments = [*command.split(), *map(str, words)]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments, env=environment)
        if result.exit_code != code or any(each not in result.output for each in says):
            raise Refused(f"{command}: {result.exit_code}\n{result.output}")
        self.commands.add(command)


class RecordInstallation(Installation):
    """One of a collection of records."""

    deployment: JointDeployment

    @property
    def deeds(self) -> Mapping[Role, Callable[[], Awaitable[None]]]:
        return {
            Role.CLIENT: self.report,
            Role.WORKER: self.work,
            Role.READER: self.read,
            Role.WATCHER: self.watch,
            Role.ANALYST: self.replay,
            Role.DEPLOYER: self.deploy,
            Role.OPERATOR: self.operate,
            Role.RESETTER: self.reset,
        }

    def rules(self, role: Role) -> Sequence[AccessRule]:
        deleted = self.deletions(self.unwanted()) if role is Role.RESETTER else []
        return [*super().rules(role), *deleted]

    def tried(self, role: Role) -> Sequence[AccessRule]:
        """Return the rules that a deed needs: the topics of the survey stay, and those of another are deleted."""
        kept = self.deletions(self.deployment.collection)
        return [each for each in self.rules(role) if each not in kept]

    def deletions(self, collection: Collection) -> list[AccessRule]:
        rules = access_rules(Role.RESETTER, [collection], settings=self.deployment.settings)
        return [each for each in rules if each.operation is Operation.DELETE and each.resource is Resource.TOPIC]

    def batches(self, count: int) -> list[bytes]:
        return batches(self.deployment.collection, [now_ms()] * count, reports=3, rng=np.random.default_rng(1))

    async def report(self) -> None:
        """Report as a client, and through a gateway."""
        async with Reporter(self.deployment.collection, settings=self.settings(Role.CLIENT)) as reporter:
            await reporter.report_many(np.zeros((10, 2), dtype=np.int64), secrets=None)
            await reporter.flush()
        await self.post(*self.batches(1))
        data = self.deployment.directory / "data.csv"
        data.write_text("bathing,mobility\nyes,none\n", encoding="utf-8")
        file = self.deployment.file
        await self.run(Role.CLIENT, "report", file, data, "--many-users", says=["1 report"])
        await self.run(Role.CLIENT, "simulate", file, "--data", data, says=["bathing"])

    async def work(self) -> None:
        """Count, refuse batches and publish a final."""
        before = len(await self.deployment.finals())
        of_another = wire.encode(
            wire.Batch(
                fingerprint=bytes(16),
                batch_id=os.urandom(16),
                time_ms=now_ms(),
                rows=np.zeros((3, 1), dtype=np.uint8),
            )
        )

        async def done(worker: WorkerProcess) -> bool:
            refused = all(f"refused as {each}" in worker.log for each in ("too_short", "unknown_fingerprint"))
            return (
                refused
                and len(await self.deployment.finals()) > before
                and len(await self.deployment.records(self.deployment.names.records("survey"))) > before
            )

        await self.deployment.send([*self.batches(8), b"no batch", of_another])
        with self.worker() as worker:
            await self.until(lambda: done(worker), worker)

    async def read(self) -> None:
        """Subscribe, query by file and by name, export and explain answers, and look at a page."""
        async with Subscriber(
            "survey", settings=self.settings(Role.READER), from_beginning=True, follow=False
        ) as answers:
            assert [answer async for answer in answers]
        for collection in (self.deployment.file, "survey"):
            await self.run(Role.READER, "query", collection, says=["bathing"])
        await self.run(Role.READER, "explain", self.deployment.file, says=["bathing"])
        await self.export()
        await self.run(Role.READER, "watch --finals", self.deployment.file, "--once", says=["bathing"])
        await self.run(Role.READER, "synthesize --published", self.deployment.file, says=["50 records"])
        await self.look(Role.READER, "page --finals")

    async def export(self) -> None:
        """Write answers as rows."""
        process, output = self.process(Role.READER, "export")
        code = await asyncio.to_thread(process.wait, 60)
        printed = output.read_text(encoding="utf-8")
        if code or "bathing" not in printed:
            raise Refused(printed)

    async def watch(self) -> None:
        """Look at answers of open windows."""
        for command in ("watch", "query --provisional"):
            once = ["--once"] if command == "watch" else []
            await self.run(Role.WATCHER, command, self.deployment.file, *once, says=["bathing"])
        await self.look(Role.WATCHER, "page")

    async def look(self, role: Role, command: str) -> None:
        """Read an answer from the page, as a browser does."""
        process, output = self.process(role, command, "--port", "0")
        try:
            async with asyncio.timeout(60), aiohttp.ClientSession() as session:
                while not (urls := re.findall(r"http://\S+/", output.read_text(encoding="utf-8"))):
                    if process.poll() is not None:
                        raise Refused("the page has ended")
                    await asyncio.sleep(0.05)
                async with session.get(f"{urls[0]}events") as events:
                    async for line in events.content:
                        if b'"reports"' in line:
                            return
                raise Refused("the page has no answer")
        except aiohttp.ClientError as error:
            raise Refused("the page is gone") from error
        finally:
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.wait, 60)

    def process(self, role: Role, command: str, *words: str) -> tuple[Forked, Path]:
        """Run a command about the collection in a process of its own: it handles signals, which no thread may.

        Returns:
            The process, and the file to which it prints.
        """
        output = self.deployment.directory / f"printed-{next(self.numbers)}"
        arguments = ["-m", "stream_ldp", *command.split(), str(self.deployment.file), *words]
        self.commands.add(command)
        return Forked(arguments, output=output, environment=self.environment(role)), output

    async def replay(self) -> None:
        """Answer a window again, and make records of it."""
        await self.run(Role.ANALYST, "replay", self.deployment.file, says=["equal, from"])
        await self.run(Role.ANALYST, "synthesize", self.deployment.file, says=["50 records"])

    async def deploy(self) -> None:
        """Create topics, look at them, and change a collection, but not while workers of it run."""
        name = f"new-{next(self.numbers)}"
        file = self.deployment.directory / f"{name}.yaml"
        file.write_text(SURVEY.format(name=name), encoding="utf-8")
        await self.run(Role.DEPLOYER, "topics create", file, says=["is registered"])
        await self.run(Role.DEPLOYER, "topics list", file, says=["exists"])
        user = "--principal", "User:reader"
        await self.run(Role.DEPLOYER, "topics acls", file, "--role", "reader", *user, says=["kafka-acls.sh"])
        file.write_text(SURVEY.format(name=name).replace("size: 2s", "size: 4s"), encoding="utf-8")
        settings = self.deployment.settings
        async with AIOKafkaConsumer(
            settings.topic_names.reports(name),
            **settings.client_options(),
            group_id=settings.group_names.ingest,
        ) as member:
            await member.getmany(timeout_ms=100)
            with patch.object(pausing, "LEAVE_SECONDS", 2.0):
                await self.run(Role.DEPLOYER, "topics create", file, says=["workers still count"], code=1)
        await self.run(Role.DEPLOYER, "topics create", file, says=["registered anew"])
        await self.run(Role.DEPLOYER, "topics registry", says=[name])
        await self.run(Role.DEPLOYER, "topics retire", name, says=["is retired"])

    async def operate(self) -> None:
        """Look at everything, send dead letters again, and release what holds finals back."""
        for topic in ("reports", "partials", "dead-letters", "collections", "records", "provisional"):
            await self.run(Role.OPERATOR, "inspect record", self.deployment.file, "--topic", topic, says=["offset"])
        file, role = self.deployment.file, Role.OPERATOR
        answers, start_ms = self.deployment.names.answers_of("survey", "estimates"), now_ms() // 2_000 * 2_000
        lost = answer_key("bathing-mobility", WindowBounds(start_ms=start_ms, end_ms=start_ms + 2_000), final=True)
        await self.deployment.send([b"damaged"], topic=answers, key=lost)
        await self.run(
            role, "doctor", file, says=["_ingest has no running worker", "this user may read and write topic"]
        )
        await self.run(role, "dead-letters list", file, says=["too_short"])
        again = ("--reason", "unknown_fingerprint", "--hopeless")
        await self.run(role, "dead-letters replay", file, *again, says=["1 batch of 3 reports sent again"])
        await self.run(role, "quarantine list", file, says=["holds finals back"])
        await self.run(role, "inspect collection", file, says=["holds finals back"])
        await self.run(role, "quarantine release", file, says=["released"])

    def unwanted(self) -> Collection:
        """Return a collection that nobody wants any more, of which there is a file."""
        file = self.deployment.directory / "unwanted.yaml"
        file.write_text(RECORDED_SURVEY.format(name="unwanted"), encoding="utf-8")
        return load_collection(file)

    async def reset(self) -> None:
        """Count again from an earlier time, and delete a collection and a group that is left behind."""
        settings, unwanted, role = self.deployment.settings, self.unwanted(), Role.RESETTER
        stranger = settings.group_names.merged("stranger")
        specs = topic_specs(
            [unwanted], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions
        )
        async with Cluster.connect(settings) as cluster:
            existing = await cluster.topics([spec.name for spec in specs])
            await cluster.create([spec for spec in specs if spec.name not in existing], replication=1)
            place = TopicPartition(settings.topic_names.reports("unwanted"), 0)
            for group in (stranger, settings.group_names.merged("unwanted")):
                await cluster.commit(group, {place: (0, "")})
        since = ("--since", "2020-01-01", "--yes")
        await self.run(role, "reset position", self.deployment.file, *since, says=["done: start a worker"])
        await self.run(role, "reset groups", "--yes", says=[f"deletes group {stranger}"])
        file = self.deployment.directory / "unwanted.yaml"
        await self.run(role, "reset topics", file, "--yes", says=[f"deletes topic {place.topic}"])


class ItemInstallation(Installation):
    """One of a collection of item sets, whose users are asked in rounds."""

    deployment: ItemDeployment

    @property
    def deeds(self) -> Mapping[Role, Callable[[], Awaitable[None]]]:
        return {Role.CLIENT: self.report, Role.WORKER: self.work}

    async def report(self) -> None:
        """Hold a set as a client; ask a gateway for rounds, and report through it."""
        secret = bytes(32)
        async with Reporter(
            self.deployment.collection,
            settings=self.settings(Role.CLIENT),
            secret=secret,
            ledger=PrivacyLedger.in_memory(secret=secret),
        ) as reporter:
            await reporter.report({"1", "2"})
        async with self.gateway() as client, client.get("/v1/collections/survey/rounds") as answer:
            if answer.status != 200:
                raise Refused(await answer.text())
        users = Users(deployment=self.deployment, sets=film_sets(10, items=128, seed=1), seed=1)
        await self.post(users.batches(await self.deployment.round(next_epoch(self.deployment), 1))[0])

    async def work(self) -> None:
        """Count both phases of an epoch."""
        epoch = next_epoch(self.deployment) + next(self.numbers)
        users = Users(deployment=self.deployment, sets=film_sets(500, items=128, seed=1), seed=1)

        async def asked() -> bool:
            return (epoch, 2) in await self.deployment.rounds()

        async def counted() -> bool:
            finals = await self.deployment.finals()
            return (epoch, 2) in finals and finals[epoch, 2].reports > 0

        with self.worker() as worker:
            await users.answer(await self.deployment.round(epoch, 1))
            await self.until(asked, worker)
            await users.answer(await self.deployment.round(epoch, 2))
            await self.until(counted, worker)


@pytest.fixture
async def records(tmp_path: Path, kafka: SecuredKafka, prefix: str) -> RecordInstallation:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=RECORDED_SURVEY)
    return RecordInstallation(deployment, kafka)


@pytest.fixture
async def items(tmp_path: Path, kafka: SecuredKafka, prefix: str) -> ItemInstallation:
    deployment = await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=FILMS)
    return ItemInstallation(deployment, kafka)


async def test_the_access_rules_are_enough_for_clients_workers_readers_and_watchers(
    records: RecordInstallation, administrator: AdminClient
) -> None:
    roles = (Role.CLIENT, Role.WORKER, Role.READER, Role.WATCHER)
    for role in roles:
        allow(administrator, role, records.rules(role))
    for role in roles:
        await records.deeds[role]()


async def test_a_deployment_whose_name_begins_alike_is_out_of_reach(
    records: RecordInstallation, administrator: AdminClient
) -> None:
    settings = records.deployment.settings
    neighbour = settings.model_copy(
        update=dict.fromkeys(("topic_prefix", "group"), f"{settings.topic_prefix}-neighbour")
    )
    reports = TopicPartition(neighbour.topic_names.reports("survey"), 0)
    ingest = neighbour.group_names.ingest
    specs = topic_specs([records.deployment.collection], prefix=neighbour.topic_prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
        await cluster.commit(ingest, {reports: (0, "")})
    for role in (Role.OPERATOR, Role.DEPLOYER, Role.RESETTER):
        allow(administrator, role, records.rules(role))
        async with Cluster.connect(records.settings(role)) as cluster:
            # Whoever may not describe it may not read it either.
            with pytest.raises(ClusterError, match="needs an access rule"):
                await cluster.topics([reports.topic])
            assert ingest not in await cluster.groups()
            with pytest.raises(KafkaError):
                await cluster.commit(ingest, {reports: (1, "")})
    await records.run(Role.RESETTER, "reset groups", "--yes")
    async with Cluster.connect(settings) as cluster:
        assert await cluster.committed(ingest, [reports]) == {reports: 0}


async def test_the_worker_of_one_collection_does_not_commit_for_one_that_is_called_merge(
    records: RecordInstallation, administrator: AdminClient
) -> None:
    allow(administrator, Role.WORKER, records.rules(Role.WORKER))
    groups, place = (
        records.deployment.settings.group_names,
        TopicPartition(records.deployment.names.reports("survey"), 0),
    )
    async with Cluster.connect(records.settings(Role.WORKER)) as cluster:
        for group in (groups.ingest, groups.merge(["survey"]), groups.merge(["survey", "films"])):
            await cluster.commit(group, {place: (0, "")})
        for group in groups.of("merge"):
            with pytest.raises(GroupAuthorizationFailedError):
                await cluster.commit(group, {place: (0, "")})


@pytest.mark.long
async def test_a_worker_that_logs_all_and_has_a_token_does_not_log_it(
    records: RecordInstallation, administrator: AdminClient, tmp_path: Path
) -> None:
    allow(administrator, Role.WORKER, records.rules(Role.WORKER))
    secret, file = token(Role.WORKER), tmp_path / "token"
    file.write_text(secret)
    without_password = {"sasl_username": "", "sasl_password": ""}
    with records.worker(sasl_mechanism="OAUTHBEARER", sasl_token_file=str(file), **without_password) as worker:
        await worker.ready()
        assert "SaslAuthenticate" in worker.log
        for form in (secret, base64.b64encode(secret.encode()).decode().rstrip("=")):
            assert form not in worker.log


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("role", Role)
async def test_the_access_rules_are_enough_and_none_can_be_left_out(
    records: RecordInstallation, administrator: AdminClient, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (Role.WORKER, role):
        allow(administrator, each, records.rules(each))
    await records.work()
    await _assert_none_is_spare(records, administrator, role, records.tried(role), monkeypatch)
    assert records.commands >= set(COMMANDS[role])


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("role", [Role.CLIENT, Role.WORKER])
async def test_the_access_rules_about_rounds_are_enough_and_none_can_be_left_out(
    items: ItemInstallation, administrator: AdminClient, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    about_rounds = [each for each in items.rules(role) if each.name.endswith(".rounds")]
    assert about_rounds
    await _assert_none_is_spare(items, administrator, role, about_rounds, monkeypatch)


async def _assert_none_is_spare(
    installation: Installation,
    administrator: AdminClient,
    role: Role,
    tried: Sequence[AccessRule],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Do without each of the rules in turn, and with all of them at the end."""
    monkeypatch.setenv("STREAM_LDP_OUTAGE", "5s")
    monkeypatch.setattr("tests.service.test_access.WORKING_SECONDS", 20.0)
    rules, deed = installation.rules(role), installation.deeds[role]
    spare = []
    for rule in tried:
        allow(administrator, role, [each for each in rules if each != rule])
        try:
            await deed()
        except (StreamLDPError, KafkaError, TimeoutError):
            continue
        spare.append(rule)
    assert spare == []
    allow(administrator, role, rules)
    await deed()
