"""Tests that a worker on a real Kafka serves a kind that the package does not know, once it is in the table."""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream_ldp.kinds import KINDS, solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.pipeline.windows import pane_of
from tests import toy
from tests.paths import REPOSITORY
from tests.service.harness import Deployment

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka

SEED = 20260717

COINS = """
collection: {name}
mechanism: {{kind: coin, truth: 0.75}}
window: {{size: 2s, grace: 1s, idle_timeout: 2s}}
"""


class CoinDeployment(Deployment):
    """A deployment of one collection of coins."""

    collection: toy.Coins

    async def finals(self) -> list[toy.Share]:
        """Return the final shares on the log, in its order."""
        records = await self.records(self.names.answers(self.collection))
        return [share for record in records if (share := toy.Share.from_bytes(record.value)).final]

    async def finals_of(self, reports: int, *, within: float = 60.0) -> list[toy.Share]:
        """Wait until the finals hold so many reports, and return those of windows with reports."""
        async with asyncio.timeout(within):
            while True:
                finals = [share for share in await self.finals() if share.reports]
                if sum(share.reports for share in finals) >= reports:
                    return finals
                await asyncio.sleep(0.2)

    async def offline(self) -> list[toy.Share]:
        """Compute the finals by loops over the reports topic."""
        windows: dict[int, list[Any]] = defaultdict(list)
        formats = {self.collection.fingerprint: toy.CoinsLayout(self.collection)}
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats=formats)
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        answers = []
        for start, rows in sorted(windows.items()):
            counts = RowCounts.of(np.concatenate(rows), bits=1)
            task: WindowTask[Any, Any] = WindowTask(
                series=toy.Heads(), window_ms=start, final=True, windows=((1.0, (counts,)),), before=None
            )
            share = solve(self.collection, task)
            assert isinstance(share, toy.Share)
            answers.append(share)
        return answers


@pytest.fixture
async def deployment(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> CoinDeployment:
    monkeypatch.setitem(KINDS, toy.COIN.name, toy.COIN)
    return await CoinDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=COINS)


def batches(collection: toy.Coins, *, times: int, reports: int) -> list[bytes]:
    """Make batches of users of whom seven in ten have heads, over the last seconds."""
    rng, now = np.random.default_rng(SEED), time.time_ns() // 1_000_000
    heads = rng.random((times, reports)) < 0.7
    told = np.where(rng.random((times, reports)) < collection.mechanism.truth, heads, ~heads)
    return [
        wire.encode(
            wire.Batch(
                fingerprint=collection.fingerprint,
                batch_id=os.urandom(16),
                time_ms=now - 500 * (times - 1 - place),
                rows=row[:, None].astype(np.uint8),
            )
        )
        for place, row in enumerate(told)
    ]


async def test_a_kind_that_was_added_to_the_table_is_served_from_end_to_end(deployment: CoinDeployment) -> None:
    with deployment.worker(program=REPOSITORY / "tests" / "toy.py") as worker:
        await worker.ready()
        # One key and so one partition, in the order of their times: nothing is late.
        await deployment.send(batches(deployment.collection, times=12, reports=250), key=b"coins")
        finals = await deployment.finals_of(3_000)
    assert finals == await deployment.offline()
    assert len(finals) >= 3
    assert sum(each.share * each.reports for each in finals) / 3_000 == pytest.approx(0.7, abs=0.1)
