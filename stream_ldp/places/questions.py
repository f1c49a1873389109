"""The questions of a collection of places: one for each region and each epsilon that users may choose.

A report says in the clear which region and which epsilon its user has chosen, and then answers in which place of the
region the user is: personalised count estimation (PCE; Chen, Li, Qin, Kasiviswanathan and Jin, 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.questions.questions import Question, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.places.tree import Region

#: Columns of a table of users: the numbers of the place, of the region and of the epsilon.
PLACE, REGION, CLASS = "0", "1", "2"


@dataclass(frozen=True, kw_only=True)
class PlaceQuestion(Question):
    """The question in which place of a region the user is.

    randomizer: a frequency oracle of the region's places.
    region: the region.
    epsilon: in nats, as the file gives it: what the ledger charges. That of the randomizer is lower by rounding.
    """

    randomizer: FrequencyOracle
    region: Region
    epsilon: float

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the numbers of the places within the region."""
        return table[PLACE] - self.region.first

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`: the first place and the end of the region, and the randomizer."""
        return [self.region.first, self.region.end, self.randomizer.kind, self.randomizer.parameters]
