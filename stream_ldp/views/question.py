"""The question which values of a few attributes, a view, the user has together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.questions.questions import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.questions import Table


@dataclass(frozen=True, kw_only=True)
class ViewQuestion(Question):
    """The question which cell of the joint distribution of a view the user is in.

    of: positions of the attributes, ascending.
    randomizer: perturbs the number of the cell, in which the value of the last attribute changes fastest (C order).
    """

    randomizer: FrequencyOracle

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each attribute."""
        return tuple(len(attribute.labels) for attribute in self.attributes)

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the numbers of the cells."""
        return np.ravel_multi_index(tuple(table[str(position)] for position in self.of), self.shape)
