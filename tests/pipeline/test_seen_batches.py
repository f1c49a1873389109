"""Tests of the memory for batches: what it holds, at what size, and what the hashes of ids are worth."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.pipeline.seen_batches import BatchHash, SeenBatches

IDS = st.lists(st.integers(0, 400), unique=True, max_size=60)


def of(numbers: list[int]) -> NDArray[np.uint64]:
    # Few different lowest bits, so that many hashes want the same slots.
    return np.array([(number << 3) + 1 for number in numbers], dtype=np.uint64)


def add(seen: SeenBatches, hashes: NDArray[np.uint64]) -> None:
    _, places = seen.look(hashes)
    seen.add(hashes, places)


@given(added=st.lists(IDS, max_size=8), asked=IDS)
def test_it_has_what_was_added_and_nothing_else(added: list[list[int]], asked: list[int]) -> None:
    seen, known = SeenBatches(), set[int]()
    for numbers in added:
        fresh = [number for number in numbers if number not in known]
        assert seen.look(of(numbers))[0].tolist() == [number in known for number in numbers]
        add(seen, of(fresh))
        known |= set(fresh)
    assert len(seen) == len(known)
    assert seen.look(of(asked))[0].tolist() == [number in known for number in asked]


def test_a_batch_takes_13_to_27_bytes() -> None:
    seen, hashed = SeenBatches(), BatchHash(b"key")
    for first in range(0, 30_000, 1_000):
        add(seen, hashed([number.to_bytes(16, "big") for number in range(first, first + 1_000)]))
        assert 13 <= seen.nbytes / len(seen) <= 27
    assert len(seen) == 30_000


def test_a_hash_is_the_formula_of_its_description() -> None:
    hashed = BatchHash(b"key")
    words = (1, 2**32 - 1, 0, 7)
    (found,) = hashed([b"".join(word.to_bytes(4, "little") for word in words)]).tolist()
    halves = []
    for half in range(2):
        multipliers = [int(row[half]) for row in hashed._multipliers]
        total = int(hashed._offsets[half]) + sum(m * w for m, w in zip(multipliers, words, strict=True))
        halves.append(total % 2**64 >> 32)
    assert found == halves[0] << 32 | halves[1]


def test_hashes_of_similar_ids_differ_and_depend_on_the_key() -> None:
    ids = [number.to_bytes(16, order) for number in range(1, 20_000) for order in ("little", "big")]
    one, two = BatchHash(b"one")(ids).tolist(), BatchHash(b"two")(ids).tolist()
    # 40,000 hashes of 64 bits: some pair is alike with a probability of 4e-11.
    assert len(set(one)) == len(set(two)) == len(ids)
    assert not set(one) & set(two)
    assert one == BatchHash(b"one")(ids).tolist()
