"""The rows that the reporters of a collection make, from what a user holds to the last byte, by enumeration.

Whatever a collection puts around its randomizers, such as the number of a question, is enumerated with them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.audit.attacks import Attack
from stream_ldp.audit.audited import Claim, Exact
from stream_ldp.audit.enumerate import distribution
from stream_ldp.audit.oracle_attacks import AttackTarget
from stream_ldp.audit.output_distribution import largest_loss
from stream_ldp.collection import Collection
from stream_ldp.mechanisms import Entropy

_NEIGHBOURS = "any two users"


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRows:
    """The rows of a collection whose users have no secret; each sends one.

    held: what users may hold, as a table, one a row: two or more.
    rows: makes the rows of some users, uint8, shape (users, width), with all decisions from one source.
    claimed: epsilon, in nats.
    """

    collection: Collection
    held: NDArray[Any]
    rows: Callable[[NDArray[Any], Entropy], NDArray[np.uint8]]
    claimed: float

    def enumerated(self) -> Exact:
        def row(place: int) -> Callable[[Entropy], bytes]:
            return lambda entropy: self.rows(self.held[[place]], entropy).tobytes()

        claim = Claim(
            about={"neighbours": _NEIGHBOURS, "reports": 1},
            claimed=self.claimed,
            enumerated=largest_loss(distribution(row(place)) for place in range(len(self.held))),
        )
        return Exact(title="One row of a user", claims=[claim], differences=())

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        ends = (np.array([[0]]), np.array([[len(self.held) - 1]]))
        whole = AttackTarget("whole rows", _Rows(self, noise), (ends,))
        return (whole.attack(neighbours=_NEIGHBOURS, reports=1, claimed=self.claimed),)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The target of an attack on whole rows, whose histories are places of what is held."""

    of: WholeRows
    noise: Callable[[], Entropy]

    def __call__(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
        return self.of.rows(self.of.held[np.repeat(history[:, 0], users)], self.noise())[:, None]
