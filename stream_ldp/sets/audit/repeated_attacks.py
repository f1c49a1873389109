"""The attack on repeated reports of item sets: an attacker who takes the sign that most reports of a user say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.attacks import Attack
from stream_ldp.audit.oracle_attacks import extended, opposite_sets, pairs_of_sets
from stream_ldp.mechanisms import Values
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.mechanisms.loloha import Permanent
    from stream_ldp.sets.phases import Method

#: Reports of a user over which an attacker averages, and the users who are attacked: some seconds.
_REPORTS = 31
_MAX_TRIALS = 5_000


def repeated_attacks(
    method: Method, *, keyed: Callable[[bytes], Permanent], noise: Callable[[], Entropy], secrets: Entropy
) -> tuple[Attack, ...]:
    """List the attacks on repeated reports; none if the method's first phase does not memoise.

    keyed: returns the sources of what a secret determines.
    noise: makes the source of the fresh noise, anew for each call.
    secrets: source of the users' secrets.
    """
    inquiry = method.first()
    oracle = method.memoising
    if oracle is None:
        return ()
    compared = opposite_sets(np.arange(method.domain), slots=inquiry.padding)

    def averaged(history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Return what is left of many reports of each user: the row, and the sign that most of them say."""
        held = np.flatnonzero(history[0]).astype(np.int64)
        permanent = [
            oracle.permanent(held, padding=inquiry.padding, words=keyed(secret))
            for secret in drawn_secrets(users, entropy=secrets)
        ]
        entropy = noise()
        sent = [oracle.refreshed(np.concatenate(permanent), entropy=entropy) for _ in range(_REPORTS)]
        bits = [np.unpackbits(each, axis=1, bitorder="little") for each in sent]
        rows = np.packbits(np.mean(bits, axis=0) > 0.5, axis=1, bitorder="little")
        return extended(oracle, rows, compared)[:, None]

    return (
        Attack(
            target="client, averaged",
            neighbours="any two sets",
            reports=_REPORTS,
            values=Values.CONSTANT,
            claimed=oracle.response.loss(reports=_REPORTS),
            system=averaged,
            pairs=pairs_of_sets(compared, domain=method.domain),
            most_trials=_MAX_TRIALS,
        ),
    )
