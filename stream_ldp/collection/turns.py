"""The turns of users: each comes once in every w windows, or epochs, at a place that the user's secret determines.

If a client drew the place anew at every start, a user could be asked twice within w windows. So the place is a keyed
pseudo-random function of the collection alone: it depends on nothing that is true of the user, and on no time. The
ledger remembers the last turn, since a clock may be wrong.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PERSON = b"stream-ldp rot 1"  # BLAKE2b's 16-byte domain separation
_WORD_BYTES = 4
_WORDS = 2 ** (8 * _WORD_BYTES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A turn of a user, in which a report is about to be made.

    fingerprint: of the collection, hexadecimal.
    number: of the window, or of the epoch.
    every: w; a user has one of w consecutive turns.
    """

    fingerprint: str
    number: int
    every: int


def turn_places(secrets: Sequence[bytes], *, fingerprint: bytes, every: int) -> NDArray[np.int64]:
    """Compute the places of users among the turns of a collection, int64, shape (n,), each from 0 to every - 1.

    A place is floor(word every / 2^32), where the word is the first 4 bytes, little-endian, of BLAKE2b(key=secret,
    person="stream-ldp rot 1", data=fingerprint): the chances of two places differ by 2^-32 at most.

    secrets: secret of each user, 32 bytes.
    fingerprint: of the collection.
    every: w; each user has one turn in w.
    """
    words = [
        int.from_bytes(
            hashlib.blake2b(fingerprint, key=secret, digest_size=_WORD_BYTES, person=_PERSON).digest(), "little"
        )
        for secret in secrets
    ]
    return np.array([word * every // _WORDS for word in words], dtype=np.int64)
