"""Tests of the hash that chooses the partitions of keys."""

from __future__ import annotations

import numpy as np
import pytest
from aiokafka import partitioner

from stream_ldp.kafka.murmur import murmur2


@pytest.mark.parametrize("length", [4, 16, 20])
def test_a_key_has_the_hash_that_other_clients_give_it(length: int) -> None:
    """Else a batch that comes again by another way would be counted again, in another partition."""
    keys = [row.tobytes() for row in np.random.default_rng(1).integers(256, size=(50, length), dtype=np.uint8)]
    assert murmur2(keys).tolist() == [partitioner.murmur2(key) for key in keys]
