"""The layout of the batches of a collection of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.single_tally import SingleTallyLayout
from stream_ldp.pipeline.statistics import Tally, tally_of_rows

if TYPE_CHECKING:
    from stream_ldp.strings.collection import StringCollection


class StringLayout(SingleTallyLayout):
    """The layout of the answers to all questions; a pane keeps every answer.

    Which strings they support is asked when the server has some, and a hash with a seed of each user's own has no
    sums.
    """

    def __init__(self, collection: StringCollection) -> None:
        super().__init__(collection.fingerprint, collection.method.questions)

    def tally(self) -> Tally:
        """Make a tally without answers."""
        return tally_of_rows(self.bits, valid=self.valid)
