"""The user partition: a random word of each user and time, which decides whether the user is asked, and what.

A collection that asks a sample of its users asks those whose word is small, and phases with disjoint shares ask
different users (`Phase.share`). If a client drew the word anew at every start, a user could be asked again and again,
or report to two such phases. So the word is a keyed pseudo-random function of the time, as the words of the permanent
randomised response are of the value. It does not depend on what is true of the user, and so reveals nothing about it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.user_secret import keyed_digests

_PERSON = b"stream-ldp grp 1"  # BLAKE2b's 16-byte domain separation
_WORD_BYTES = 4


def partition_words(secrets: Sequence[bytes], *, fingerprint: bytes, epoch: int) -> NDArray[np.uint32]:
    """Compute the partition words of users at one time of a collection, uint32, shape (n,), each uniform.

    A word is the first 4 bytes, little-endian, of BLAKE2b(key=secret, person="stream-ldp grp 1",
    data=fingerprint || epoch i64).

    secrets: secret of each user, 32 bytes.
    fingerprint: fingerprint of the collection.
    epoch: number of an epoch of item sets, or of a pane of records: its time divided by the pane's length.

    Raises:
        ValueError: a secret has another length.
    """
    data = fingerprint + epoch.to_bytes(8, "little", signed=True)
    return keyed_digests(secrets, person=_PERSON, data=data, size=_WORD_BYTES).view("<u4")[:, 0]
