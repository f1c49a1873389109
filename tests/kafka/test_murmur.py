"""Tests that many keys have the hashes that other clients of Kafka compute for each."""

from __future__ import annotations

from aiokafka.partitioner import murmur2 as murmur2_of_one
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kafka.murmur import murmur2


@given(
    st.sampled_from([0, 4, 16]).flatmap(lambda size: st.lists(st.binary(min_size=size, max_size=size), min_size=1))
)
def test_keys_have_the_hashes_of_other_clients(keys: list[bytes]) -> None:
    assert murmur2(keys).tolist() == [murmur2_of_one(key) for key in keys]
