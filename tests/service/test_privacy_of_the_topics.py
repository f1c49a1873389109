"""Tests that neither an eavesdropper on the broker nor a reader of the logs finds anything that betrays a user."""

from __future__ import annotations

import logging
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from stream_ldp.client import Reporter
from tests.client.reports import unlimited
from tests.service.harness import JointDeployment

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka

TRUE_VALUE = "walks-with-a-stick"

SURVEY = """
collection: {name}
mechanism: {{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}
attributes:
  - {{name: bathing, values: [alone-every-day, with-help]}}
  - {{name: mobility, values: [runs-marathons, walks-with-a-stick, in-bed-all-day]}}
window: {{size: 2s, grace: 1s, idle_timeout: 2s}}
estimates:
  - {{name: bathing-mobility, of: [bathing, mobility], every: 500ms}}
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
    for sent in await deployment.records(names.estimates("survey")):
        assert secret not in sent.value
        assert secret.hex().encode() not in sent.value
    for each in (TRUE_VALUE, "alone-every-day", secret.hex(), "flies-to-the-moon"):
        assert each not in logs
        assert each not in metrics


async def test_a_users_batches_have_nothing_in_common_but_the_collection(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    deployment = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=SURVEY)
    secret = os.urandom(32)
    async with Reporter(
        deployment.collection, settings=deployment.settings, secret=secret, ledger=unlimited(secret)
    ) as reporter:
        for _ in range(5):
            await reporter.report({"bathing": "with-help", "mobility": TRUE_VALUE})
            await reporter.flush()
    sent = await deployment.records(deployment.names.reports("survey"))
    assert len(sent) == 5
    assert max(Counter(record.key for record in sent).values()) == 1
    assert not any(record.headers for record in sent)
