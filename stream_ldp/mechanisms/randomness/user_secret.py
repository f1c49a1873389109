"""The secret of a user, which determines all permanent noise."""

import hashlib
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.entropy import Entropy, random_words

#: Bytes of a user's secret, the key of pseudo-random functions: 256 bits of security.
SECRET_BYTES = 32


def new_secret() -> bytes:
    """Draw a fresh user secret from the operating system, which the client has to keep."""
    return os.urandom(SECRET_BYTES)


def drawn_secrets(users: int, *, entropy: Entropy) -> list[bytes]:
    """Draw the secrets of users who are simulated, or who report once."""
    drawn = random_words(users * SECRET_BYTES // 4, entropy=entropy).tobytes()
    return [drawn[start : start + SECRET_BYTES] for start in range(0, len(drawn), SECRET_BYTES)]


def require_secret(secret: bytes) -> None:
    """Check the length of a secret.

    Raises:
        ValueError: the secret is not `SECRET_BYTES` long.
    """
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a user secret has {SECRET_BYTES} bytes, got {len(secret)}")


def keyed_digests(secrets: Sequence[bytes], *, person: bytes, data: bytes, size: int) -> NDArray[np.uint8]:
    """Compute BLAKE2b(key=secret, person, data) of many users, uint8, shape (n, size).

    secrets: secret of each user.
    person: 16 bytes that no other use of secrets has.
    size: bytes of each digest, from 1 to 64.

    Raises:
        ValueError: a secret is not `SECRET_BYTES` long.
    """
    for secret in secrets:
        require_secret(secret)
    made = [hashlib.blake2b(data, key=secret, digest_size=size, person=person).digest() for secret in secrets]
    return np.frombuffer(b"".join(made), dtype=np.uint8).reshape(len(secrets), size)
