"""Tests that no hostile client ends, blinds or fills a worker, or delays its neighbours without bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.chaos.flood import FLOODS, flood

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka

#: Seconds after the end of a window within which a neighbour's finals come, on a machine with other work; in calm
#: seconds it takes three.
DELAY_SECONDS = 30.0


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", FLOODS)
async def test_a_worker_outlives_a_flood_and_answers_its_neighbour(
    kind: str, tmp_path: Path, mortal: EmbeddedKafka
) -> None:
    found = await flood(kind, mortal.bootstrap, directory=tmp_path, seconds=5.0)
    assert found.problems == [], str(found)
    assert found.sent[0] > 0
    assert np.quantile(found.meanwhile, 0.99) <= DELAY_SECONDS
