"""The layout of the batches of a sampled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.single_tally import SingleTallyLayout
from stream_ldp.pipeline.statistics import SumTally

if TYPE_CHECKING:
    from stream_ldp.questions.collection import CollectionOfQuestions


class QuestionLayout(SingleTallyLayout):
    """The layout of the answers to all questions; a pane keeps their sums."""

    def __init__(self, collection: CollectionOfQuestions) -> None:
        super().__init__(collection.fingerprint, collection.questions)
        self._sums = collection.questions

    def tally(self) -> SumTally:
        """Make empty sums of the answers."""
        return SumTally(self._sums)
