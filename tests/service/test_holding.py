"""Tests that records which cannot be read hold finals back until they are released."""

import asyncio

import pytest

from stream_ldp.pipeline import partials
from stream_ldp.service import holding
from stream_ldp.service.holding import Holding
from stream_ldp.service.merger import Merger
from tests.pipeline.test_merging import partial, watermark
from tests.service.mergers import SMALL, SOON, Published, entry, rebuilt


async def test_finals_held_back_are_a_problem_until_they_are_released(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def everything(*_: object) -> dict[str, int]:
        return {"partials": 1_000}

    monkeypatch.setattr(Holding, "release_seconds", 0.01)
    await rebuilt(merger)
    key, _ = partials.encode(partial(9, collection=SMALL, spec=SMALL.estimates[0]), writer="w")
    await merger.apply(entry(SMALL, 0, key, None))
    record = watermark(10_000, collection=SMALL)
    await merger.apply(entry(SMALL, 1, *partials.encode(record, writer="w")))
    async with asyncio.timeout(SOON):
        while not merger.problems():
            await asyncio.sleep(0.01)
    (problem,) = merger.problems()
    assert problem.startswith("small: finals are held back by a record that cannot be read")
    assert "offset 0: it has no value" in problem
    monkeypatch.setattr(holding, "released", everything)
    await rebuilt(merger)
