"""The hash by which clients of Kafka choose the partition of a key, of many keys at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Seed, multiplier and shift of Kafka's MurmurHash2: `org.apache.kafka.common.utils.Utils.murmur2`.
_SEED, _M, _R = 0x9747B28C, np.uint32(0x5BD1E995), 24


def murmur2(keys: Sequence[bytes]) -> NDArray[np.uint32]:
    """Hash keys of one length, which is a multiple of four bytes; uint32, shape (keys,).

    >>> murmur2([bytes(range(16))])
    array([3256932137], dtype=uint32)
    """
    length = len(keys[0])
    words = np.frombuffer(b"".join(keys), dtype="<u4").reshape(len(keys), length // 4)
    mixed = words * _M
    mixed ^= mixed >> _R
    mixed *= _M
    found = np.full(len(keys), _SEED ^ length, dtype=np.uint32)
    for word in mixed.T:
        found *= _M
        found ^= word
    found ^= found >> 13
    found *= _M
    found ^= found >> 15
    return found
