"""The pseudonym of a user for a period: it shows the service which reports are one user's.

It is a keyed pseudo-random function of the user's secret, the collection and the period. So it depends on nothing
that the user reports, and two periods, collections or users have independent pseudonyms.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.entropy import Entropy, random_words
from stream_ldp.mechanisms.randomness.user_secret import keyed_digests

#: Two of a million users of a period have the same pseudonym with a chance of 3e-8, and would count as one user.
PSEUDONYM_BYTES = 8
PSEUDONYM_BITS = 8 * PSEUDONYM_BYTES

_PERSON = b"stream-ldp lnk 1"  # BLAKE2b's 16-byte domain separation
_WORDS = 2  # of 32 bits


def pseudonyms(secrets: Sequence[bytes], *, fingerprint: bytes, period: int) -> NDArray[np.uint8]:
    """Compute the pseudonyms of users in one period of a collection, uint8, shape (n, 8).

    A pseudonym is BLAKE2b(key=secret, person="stream-ldp lnk 1", data=fingerprint || period i64), of 8 bytes.

    secrets: secret of each user, 32 bytes.
    fingerprint: fingerprint of the collection.
    period: number of the period: its time divided by the period's length.

    Raises:
        ValueError: a secret has another length.
    """
    data = fingerprint + period.to_bytes(8, "little", signed=True)
    return keyed_digests(secrets, person=_PERSON, data=data, size=PSEUDONYM_BYTES)


def random_pseudonyms(users: int, *, entropy: Entropy) -> NDArray[np.uint8]:
    """Draw pseudonyms of reports that nothing is to link, uint8, shape (n, 8)."""
    words = random_words(_WORDS * users, entropy=entropy).astype("<u4")
    return words.view(np.uint8).reshape(users, PSEUDONYM_BYTES)
