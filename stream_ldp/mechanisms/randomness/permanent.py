"""Permanent words of a user, which need no memory.

RAPPOR (Erlingsson, Pihur and Korolova, 2014) stores each permanent response. Here it is recomputed from one
secret: the words are a keyed pseudo-random function of the value, so the same value always gets the same response.
Another value, attribute, collection or noise level gets an independent one.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.entropy import WordEntropy
from stream_ldp.mechanisms.randomness.user_secret import require_secret

_BLOCK_BYTES = 64  # output of one BLAKE2b call, its maximum
_WORD_BYTES = 4
_PERSON = b"stream-ldp prr 1"  # BLAKE2b's 16-byte domain separation


class KeyedWords(WordEntropy):
    """A source of decisions that a secret and what it is used for determine permanently.

    Block i of its words is BLAKE2b(key=secret, person=person, data=data || i u32), of 64 bytes: 16 words,
    little-endian. There is no end of them, so that a decision may take as many as it needs.

    Raises:
        ValueError: the secret is not `SECRET_BYTES` long.
    """

    def __init__(self, secret: bytes, *, person: bytes, data: bytes) -> None:
        """Begin with the first word.

        person: 16 bytes that no other use of secrets has.
        data: all that the words depend on beside the secret.
        """
        require_secret(secret)
        self._secret, self._person, self._data = secret, person, data
        self._blocks = 0
        self._left = b""

    def words(self, n: int) -> NDArray[np.uint32]:
        """Make the next `n` words."""
        needed = n * _WORD_BYTES
        stream = bytearray(self._left)
        while len(stream) < needed:
            block = self._data + self._blocks.to_bytes(4, "little")
            stream += hashlib.blake2b(block, key=self._secret, digest_size=_BLOCK_BYTES, person=self._person).digest()
            self._blocks += 1
        self._left = bytes(stream[needed:])
        return np.frombuffer(bytes(stream[:needed]), dtype="<u4")


class PermanentWords:
    """Keyed words for the permanent responses to every attribute of one collection.

    The words of (secret, collection, attribute, value) are BLAKE2b(key=secret, person="stream-ldp prr 1",
    data=context(attribute) || value u32 || block u32). The context is the SHA-256 of the collection's name, the
    attribute's name and its ordered values, and the noise of the mechanism. All of them change what a response means.
    Were one of them left out, two responses with different meanings would share a word, and their comparison would
    reveal the value.

    attributes: the name and the ordered values of each.
    noise: all that the permanent response to each attribute depends on besides; see `Mechanism.noise`.
    counts: number of words of each attribute; see `Mechanism.words`.
    by_value: whether each value has words of its own; otherwise all have those of value 0.
    """

    def __init__(
        self,
        *,
        collection: str,
        attributes: Sequence[tuple[str, Sequence[str]]],
        noise: Sequence[list[Any]],
        counts: Sequence[int],
        by_value: bool = True,
    ) -> None:
        self._by_value = by_value
        self._contexts = [
            hashlib.sha256(
                json.dumps(
                    [collection, name, list(values), *of_attribute], ensure_ascii=False, separators=(",", ":")
                ).encode()
            ).digest()
            for (name, values), of_attribute in zip(attributes, noise, strict=True)
        ]
        self._counts = list(counts)
        # Of each block: the attribute, what the block's number adds to the value before it, and the block's length.
        self._blocks = [
            (attribute, block << 32, min(_BLOCK_BYTES, count * _WORD_BYTES - block * _BLOCK_BYTES))
            for attribute, count in enumerate(counts)
            for block in range(-(-count * _WORD_BYTES // _BLOCK_BYTES))
        ]
        self._lengths = {length for *_, length in self._blocks}

    def words(self, secret: bytes, values: Sequence[int]) -> NDArray[np.uint32]:
        """Return the words of one user's record, uint32, shape (sum of counts,).

        Raises:
            ValueError: the secret is not `SECRET_BYTES` long.
        """
        return np.frombuffer(b"".join(self._digests(secret, values)), dtype="<u4")

    def words_of(self, secrets: Sequence[bytes], values: NDArray[np.integer]) -> NDArray[np.uint32]:
        """Return the words of many users, uint32, shape (n, sum of counts); `values` has shape (n, attributes)."""
        words = [self.words(secret, row) for secret, row in zip(secrets, values.tolist(), strict=True)]
        return np.array(words, dtype=np.uint32).reshape(len(values), sum(self._counts))

    def _digests(self, secret: bytes, values: Sequence[int]) -> list[bytes]:
        require_secret(secret)
        if len(values) != len(self._counts):
            raise ValueError(f"a record has a value of each of {len(self._counts)} attributes, got {len(values)}")
        # The key is hashed once for all blocks of a length.
        keyed = {size: hashlib.blake2b(key=secret, digest_size=size, person=_PERSON) for size in self._lengths}
        digests = []
        for attribute, above, size in self._blocks:
            block = keyed[size].copy()
            value = int(values[attribute]) if self._by_value else 0
            block.update(self._contexts[attribute] + (value + above).to_bytes(8, "little"))
            digests.append(block.digest())
        return digests
