"""Heavy hitters on a real Kafka: phase after phase, with workers as an operator runs them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.service.epochs import FILMS, ItemDeployment, Users, film_sets

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.embedded import EmbeddedKafka

SEED = 20260717


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> ItemDeployment:
    return await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=FILMS)


def next_epoch(deployment: ItemDeployment) -> int:
    """One that has begun an hour ago: its clients' clocks are slow, and reports may be a day old."""
    schedule = deployment.collection.schedule
    return int(time.time() * 1_000 - 3_600_000) // (schedule.size_ms * schedule.stride)


async def test_a_final_is_not_what_the_reports_say(deployment: ItemDeployment) -> None:
    users = Users(deployment=deployment, sets=film_sets(5_000, items=128, seed=SEED), seed=SEED)
    epoch = next_epoch(deployment)
    with deployment.worker() as worker:
        await worker.ready()
        for each in (epoch, epoch + 1):
            await users.live(each)
        await deployment.final(epoch + 1, 3)
    for each in (epoch, epoch + 1):
        await deployment.assert_published(each)
