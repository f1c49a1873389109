"""The attack on repeated reports of item sets: an attacker who takes the sign that most reports of a user say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.audit.attacks import Attack
from stream_ldp.audit.oracle_attacks import extended, opposite_sets, pairs_of_sets
from stream_ldp.mechanisms import LolohaResponse, Values
from stream_ldp.mechanisms.randomness.user_secret import drawn_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.audit.oracle_attacks import Sets
    from stream_ldp.mechanisms import Entropy
    from stream_ldp.mechanisms.loloha import Permanent
    from stream_ldp.sets.phases import Method

#: Reports of a user over which an attacker averages, and the users who are attacked: some seconds.
_REPORTS = 31
_MAX_TRIALS = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class AveragedSigns:
    """What is left of many reports of a user: the row, and the sign that most of them say.

    padding: number of slots that a set is padded to.
    compared: the sets whose support the attacker looks at.
    keyed: returns the sources of what a secret determines.
    noise: makes the source of the fresh noise, anew for each call.
    secrets: source of the users' secrets.
    """

    oracle: LolohaResponse
    padding: int
    compared: Sets
    keyed: Callable[[bytes], Permanent]
    noise: Callable[[], Entropy]
    secrets: Entropy

    def reports(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        """Packed rows, shape (users, 1, width), for a history of one set: ones at the places of its items."""
        held = np.flatnonzero(history[0]).astype(np.int64)
        permanent = np.concatenate(
            [
                self.oracle.permanent(held, padding=self.padding, words=self.keyed(secret))
                for secret in drawn_secrets(users, entropy=self.secrets)
            ]
        )
        entropy = self.noise()
        sent = [self.oracle.refreshed(permanent, entropy=entropy) for _ in range(_REPORTS)]
        bits = [np.unpackbits(each, axis=1, bitorder="little") for each in sent]
        averaged = np.packbits(np.mean(bits, axis=0) > 0.5, axis=1, bitorder="little")
        return extended(self.oracle, averaged, self.compared)[:, None]


def repeated_attacks(
    method: Method, *, keyed: Callable[[bytes], Permanent], noise: Callable[[], Entropy], secrets: Entropy
) -> tuple[Attack, ...]:
    """List the attacks on repeated reports; none if the method's first phase does not memoise."""
    inquiry = method.first()
    oracle = method.memoising
    if oracle is None:
        return ()
    compared = opposite_sets(np.arange(method.domain), slots=inquiry.padding)
    system = AveragedSigns(
        oracle=oracle, padding=inquiry.padding, compared=compared, keyed=keyed, noise=noise, secrets=secrets
    )
    return (
        Attack(
            target="client, averaged",
            neighbours="any two sets",
            reports=_REPORTS,
            values=Values.CONSTANT,
            claimed=oracle.response.loss(reports=_REPORTS),
            system=system,
            pairs=pairs_of_sets(compared, domain=method.domain),
            most_trials=_MAX_TRIALS,
        ),
    )
