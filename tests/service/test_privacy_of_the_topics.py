"""Tests that neither an eavesdropper on the broker nor a reader of the logs finds anything that betrays a user."""

import asyncio
import logging
import os
from collections import Counter
from pathlib import Path

import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.pipeline.content_type import BATCH
from tests.client.reports import unlimited
from tests.kafka.segments import stored_batches
from tests.service.epochs import ItemDeployment
from tests.service.harness import JointDeployment

TRUE_VALUE = "walks-with-a-stick"

SURVEY = """
collection: {name}
mechanism: {{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}
attributes:
  - {{name: bathing, values: [alone-every-day, with-help]}}
  - {{name: mobility, values: [runs-marathons, walks-with-a-stick, in-bed-all-day]}}
min_reports: 1
window: {{size: 2s, grace: 1s, idle_timeout: 2s}}
estimates:
  - {{name: bathing-mobility, of: [bathing, mobility], every: 500ms}}
"""

#: An epoch begins every second, and its first phase asks all users. It needs no worker.
FILMS = """
collection: {name}
mechanism: {{kind: ldpminer, epsilon: 4, k: 2, set_size: 2}}
items: {{names: [item0, item1, item2, item3]}}
min_reports: 1
window: {{size: 1s, grace: 200ms, idle_timeout: 400ms}}
epochs: pipelined
"""


async def test_no_topic_log_or_metric_betrays_a_users_values_or_secret(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=SURVEY)
    record = {"bathing": "alone-every-day", "mobility": TRUE_VALUE}
    secret = os.urandom(32)
    with deployment.worker() as worker:
        await worker.ready()
        # Registering the collection has logged what it asks, which is public.
        caplog.clear()
        async with Reporter(
            deployment.collection, settings=deployment.settings, secret=secret, ledger=unlimited(secret), linger=0.01
        ) as reporter:
            for _ in range(50):
                await reporter.report(record)
            with pytest.raises(ValueError, match="mobility") as refused:
                await reporter.report({**record, "mobility": "flies-to-the-moon"})
        assert "moon" not in str(refused.value)
        logs = caplog.text
        await deployment.finals_of(50)
        _, metrics = await worker.get("/metrics")
        logs += worker.log

    betraying = [TRUE_VALUE.encode(), b"alone-every-day", secret, secret.hex().encode(), b"flies-to-the-moon"]
    names = deployment.names
    for topic in (names.reports("survey"), names.partials, names.dead_letters("survey")):
        for sent in await deployment.records(topic):
            headers = [part for name, value in sent.headers for part in (name.encode(), value)]
            content = b"|".join([sent.key, sent.value, *headers])
            assert not [each for each in betraying if each in content], topic
    # An estimate names every value of its attributes, whatever anyone reported; a secret it must not hold.
    for topic in (names.answers_of("survey", "estimates"), names.provisional("survey")):
        for sent in await deployment.records(topic):
            assert secret not in sent.value
            assert secret.hex().encode() not in sent.value
    for each in (TRUE_VALUE, "alone-every-day", secret.hex(), "flies-to-the-moon"):
        assert each not in logs
        assert each not in metrics


async def test_nothing_in_the_brokers_log_groups_the_batches_of_a_user(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    survey = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=SURVEY)
    films = await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=f"{prefix}-items", text=FILMS)

    async def answer_the_survey() -> None:
        secret = os.urandom(32)
        async with Reporter(
            survey.collection, settings=survey.settings, secret=secret, ledger=unlimited(secret)
        ) as reporter:
            for _ in range(3):
                await reporter.report({"bathing": "with-help", "mobility": TRUE_VALUE})
                await reporter.flush()

    async def report_films() -> None:
        secret, answered = os.urandom(32), asyncio.Event()
        reporter = Reporter(
            films.collection,
            settings=films.settings,
            secret=secret,
            ledger=unlimited(secret),
            on_report=lambda _: answered.set() if reporter.acknowledged == 3 else None,
        )
        async with reporter, asyncio.timeout(60):
            await reporter.report(["item0"])
            await answered.wait()

    await asyncio.gather(*(task() for task in (answer_the_survey, report_films) for _ in range(2)))
    for deployment in (survey, films):
        topic = deployment.names.reports("survey")
        stored = stored_batches(kafka, topic, partitions=deployment.partitions[topic])
        records = [record for batch in stored for record in batch.records]
        assert len(records) == 6
        # All users' alike: no producer id, which Kafka writes as -1, and the same header.
        assert {each.producer_id for each in stored} == {-1}
        assert len({(each.attributes, each.producer_epoch, each.base_sequence) for each in stored}) == 1
        assert {each.headers for each in records} == {BATCH}
        assert {each.value[16:32] for each in records} == {deployment.collection.fingerprint}
        # Each batch's own.
        assert len({each.key for each in records}) == len({each.value[32:48] for each in records}) == 6
        # The times are the event time, which the batch says anyway, and the broker's.
        for batch in stored:
            assert batch.has_append_time
            for record in batch.records:
                assert batch.first_time_ms + record.time_delta == int.from_bytes(record.value[48:56], "little")


async def test_an_idempotent_producer_would_group_its_batches(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    """The control: what the test above looks for is there to be found."""
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=SURVEY)
    topic = deployment.names.reports("survey")
    for _ in range(2):
        producer = Producer(deployment.settings)
        await producer.start()
        for _ in range(3):
            await producer.publish([Record(topic=topic, key=os.urandom(16), value=b"")])
        await producer.stop()
    stored = stored_batches(kafka, topic, partitions=deployment.partitions[topic])
    groups = Counter(batch.producer_id for batch in stored)
    assert -1 not in groups
    assert sorted(groups.values()) == [3, 3]
