"""A whole epoch at once follows from its seed."""

from __future__ import annotations

import pytest

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.epoch import run_epoch
from stream_ldp.sets.methods import METHODS
from tests.sets.methods.examples import build, population

ALL = pytest.mark.parametrize("kind", list(METHODS))


@ALL
def test_the_same_seed_gives_the_same_epoch(kind: str) -> None:
    sets = population(2_000)
    one, same, other = (run_epoch(build(kind), sets, entropy=SeededEntropy(seed)) for seed in (1, 1, 2))
    assert one.items.tolist() == same.items.tolist()
    assert one.frequency.tolist() == same.frequency.tolist()
    assert one.frequency.tolist() != other.frequency.tolist()
