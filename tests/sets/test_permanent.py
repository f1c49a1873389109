"""What a secret determines of memoised reports is the same for ever, and shared with nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import numpy as np
import pytest

from stream_ldp.mechanisms import SECRET_BYTES, GivenWords, LolohaResponse
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.permanent import held_sign, permanent_words, sign_words
from stream_ldp.sets.sampling import respond
from tests.paths import GOLDEN

MEMOISED = ItemCollection.load(GOLDEN / "memoised-films.yaml")
SECRET, OTHER = bytes(SECRET_BYTES), bytes([1]) * SECRET_BYTES


def changed(**changes: object) -> ItemCollection:
    return ItemCollection.model_validate({**MEMOISED.document, **changes})


def test_the_words_of_each_user_purpose_and_collection_are_their_own() -> None:
    again, *others = [
        permanent_words(collection, key=key)(purpose).words(4).tobytes()
        for collection, key, purpose in (
            (MEMOISED, SECRET, b"row"),
            (MEMOISED, OTHER, b"row"),
            (MEMOISED, SECRET, b"set"),
            (changed(collection="other"), SECRET, b"row"),
            (changed(mechanism={**MEMOISED.document["mechanism"], "for_ever": 3}), SECRET, b"row"),
        )
    ]
    assert again == permanent_words(MEMOISED, key=SECRET)(b"row").words(4).tobytes()
    assert len({again, *others}) == 5


def test_the_two_signs_have_different_words() -> None:
    assert (
        sign_words(MEMOISED, 0, key=SECRET).words(2).tolist() != sign_words(MEMOISED, 1, key=SECRET).words(2).tolist()
    )


def test_a_method_without_permanent_signs_says_so() -> None:
    with pytest.raises(TypeError, match=r"no permanent sign"):
        held_sign(ItemCollection.load(GOLDEN / "films.yaml"), ItemSets.of([[1]]), secret=SECRET)


def test_permanent_responses_match_the_golden_vectors() -> None:
    """And the report that fresh words make of each."""
    oracle = MEMOISED.method.oracle(MEMOISED.method.first())
    assert isinstance(oracle, LolohaResponse)
    vectors = json.loads((GOLDEN / "loloha.json").read_text(encoding="utf-8"))
    assert MEMOISED.fingerprint.hex() == vectors["fingerprint"]
    assert hashlib.sha256(vectors["canonical"].encode()).hexdigest()[:32] == vectors["fingerprint"]
    assert oracle.response.chances == vectors["chances"]
    for vector in vectors["responses"]:
        sets, secret = ItemSets.of([vector["items"]]), bytes.fromhex(vector["secret"])
        words = permanent_words(MEMOISED, key=secret)
        assert held_sign(MEMOISED, sets, secret=secret) == vector["sign"]
        permanent = oracle.permanent(sets.items, padding=vectors["slots"], words=words)
        assert permanent.tobytes().hex() == vector["permanent"]
        for fresh in vector["reports"]:
            sent = respond(
                MEMOISED.method,
                MEMOISED.method.first(),
                sets,
                entropy=GivenWords(np.array(fresh["words"], dtype=np.uint32)),
                permanent=[words],
            )
            assert sent.tobytes().hex() == fresh["row"]


class SpecifiedUser:
    """What a secret determines, written from section 12 of docs/wire.md alone."""

    def __init__(self, secret: bytes, *, fingerprint: bytes, items: int, slots: int, permanent: int) -> None:
        self._secret, self._fingerprint = secret, fingerprint
        self._items, self._slots, self._kept = items, slots, permanent

    def words(self, purpose: bytes) -> Iterator[int]:
        for block in range(2**32):
            data = self._fingerprint + purpose + block.to_bytes(4, "little")
            digest = hashlib.blake2b(data, key=self._secret, digest_size=64, person=b"stream-ldp lol 1").digest()
            yield from (int.from_bytes(digest[start : start + 4], "little") for start in range(0, 64, 4))

    @staticmethod
    def uniform(words: Iterator[int], size: int) -> int:
        return next(word for word in words if word < 2**32 - 2**32 % size) % size

    def permanent(self, held: list[int]) -> bytes:
        bits = max(1, (self._items - 1).bit_length())
        index = self.uniform(self.words(b"row"), 2**bits)
        ordered = sorted(held)
        words = self.words(b"set" + b"".join(item.to_bytes(4, "little") for item in ordered))
        slot = self.uniform(words, max(self._slots, len(ordered)))
        sign = (index & ordered[slot]).bit_count() % 2 if slot < len(ordered) else self.uniform(words, 2)
        kept = next(self.words(b"sign" + bytes([sign]))) < self._kept
        row = index | (sign if kept else 1 - sign) << bits
        return row.to_bytes(-(-(bits + 1) // 8), "little")


@pytest.mark.parametrize("items", [3, 8, 1_000])
def test_a_client_written_from_the_specification_keeps_the_same_responses(items: int) -> None:
    mechanism = {**MEMOISED.document["mechanism"], "set_size": 3}
    collection = changed(items={"size": items}, mechanism=mechanism)
    oracle = collection.method.oracle(collection.method.first())
    assert isinstance(oracle, LolohaResponse)
    rng = np.random.default_rng(1)
    for number in range(100):
        secret = number.to_bytes(SECRET_BYTES, "big")
        user = SpecifiedUser(
            secret, fingerprint=collection.fingerprint, items=items, slots=3, permanent=oracle.response.permanent.kept
        )
        held = rng.choice(items, size=int(rng.integers(0, min(items, 9) + 1)), replace=False)
        ours = oracle.permanent(held, padding=3, words=permanent_words(collection, key=secret))
        assert ours.tobytes() == user.permanent(held.tolist())
