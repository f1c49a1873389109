"""The questions that every mechanism answers about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream_ldp.mechanisms.privacy_loss import PrivacyLoss, Values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.entropy import Entropy

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """What perturbs a record on the user's side and says what that costs the user."""

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """One report of each of many users, packed rows, uint8, shape (n, width).

        values: value indices, shape (n, attributes).

        Raises:
            ValueError: a value is not one of its attribute's.
        """
        ...

    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """What `reports` reports of one user (math.inf: for ever) tell about him, and under which assumption.

        neighbours: number of attributes in which two records may differ; None: all of them, any two records.

        Raises:
            ValueError: neighbours or reports is out of range.
            NotCovered: no formula of the mechanism holds for such values and so many reports.
        """
        ...

    def epsilon(self, *, neighbours: int | None = None, reports: float = 1) -> float:
        """The epsilon of `privacy_loss` for values that do not change."""
        ...
