"""What can be audited, and what an enumeration of it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.audit.attacks import Attack
    from stream_ldp.collection import Collection
    from stream_ldp.mechanisms import Entropy

__all__ = ["REPORTS", "TOLERANCE", "Audited", "Exact", "Row"]

#: Numbers of reports for which a user who holds the same throughout is enumerated.
REPORTS = (1, 2, 3, math.inf)

#: The most by which an enumerated epsilon may differ from the claimed one: both are rounded, at 50 digits and again.
TOLERANCE = 1e-9

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exact:
    """The results of an enumeration.

    title: title of the results.
    results: a row for each claim.
    changing: a row for each case that no claim covers.
    changes: what may change in them.
    wide: a row for each oracle that was enumerated at its real width, for some values and sets.
    differences: where the code does not have the probabilities that it states, and how.
    wrong: number of claims that are disproved.
    miniature: description of what was enumerated in place of something too large.
    """

    title: str
    results: list[Row]
    differences: tuple[str, ...]
    wrong: int
    changing: list[Row] | None = None
    changes: str = "A record"
    wide: list[Row] | None = None
    miniature: str | None = None


class Audited(Protocol):
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
