"""What can be audited, and what an enumeration of it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms import Entropy

#: Numbers of reports for which a user who holds the same throughout is enumerated.
REPORTS = (1, 2, 3, math.inf)

#: The most by which an enumerated epsilon may differ from the claimed one: both are rounded, at 50 digits and again.
TOLERANCE = 1e-9

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim about privacy, beside what was enumerated.

    about: what it is about, by the names of columns, such as the neighbours and the number of reports.
    claimed, enumerated: epsilon, in nats.
    allowed: what the ledger charges, in nats; None if it charges what is claimed.
    tight: whether epsilon is claimed to be `claimed`, and not only at most that.
    """

    about: Row
    claimed: float
    enumerated: float
    allowed: float | None = None
    tight: bool = False

    @property
    def holds(self) -> bool:
        """Whether the enumeration agrees with the claim, and the ledger charges no less."""
        return (
            self.enumerated <= self.claimed + TOLERANCE
            and not (self.tight and self.enumerated < self.claimed - TOLERANCE)
            and (self.allowed is None or self.claimed <= self.allowed + TOLERANCE)
        )

    @property
    def row(self) -> Row:
        """The claim as a row of a table."""
        allowed = {} if self.allowed is None else {"allowed": self.allowed}
        return {**self.about, **allowed, "claimed": self.claimed, "enumerated": self.enumerated}


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact:
    """The results of an enumeration.

    title: title of the claims.
    claims: all claims, which all have to hold.
    changing: a row for each case that no claim covers.
    changes: what may change in them.
    w_event: the claim of any w consecutive windows, where users take turns.
    wide: the claim of each oracle that was enumerated at its real width, for some values and sets.
    differences: where the code does not have the probabilities that it states, and how.
    miniature: description of what was enumerated in place of something too large.
    """

    title: str
    claims: list[Claim]
    differences: tuple[str, ...]
    changing: list[Row] | None = None
    changes: str = "A record"
    w_event: list[Claim] = field(default_factory=list)
    wide: list[Claim] = field(default_factory=list)
    miniature: str | None = None

    @property
    def disproved(self) -> list[Claim]:
        """The claims that do not hold."""
        return [claim for claim in (*self.claims, *self.w_event, *self.wide) if not claim.holds]


class AuditSubject(Protocol):
    """A collection or mechanism to audit.

    collection: the collection; None if it is a mechanism by itself, without clients.
    """

    @property
    def collection(self) -> Collection | None: ...

    def enumerated(self) -> Exact:
        """Compute epsilon from the probabilities with which the code produces its outputs.

        Raises:
            UnknownDistribution: the probabilities cannot be found.
        """
        ...

    def attacks(self, *, noise: Callable[[], Entropy], secrets: Entropy) -> tuple[Attack, ...]:
        """Return the attacks to try on it."""
        ...
