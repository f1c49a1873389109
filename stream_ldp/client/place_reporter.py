"""This module reports records to collections of places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.client.record_reporter import RecordReporter
from stream_ldp.client.sender import of_kind
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.questions.permanent import permanent_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
    from stream_ldp.privacy.ledger.reports import AttributeReport

__all__ = ["PlaceReporter"]


class PlaceReporter(RecordReporter):
    """A reporter sends reports of places to a collection of them, a `PlaceCollection`.

        async with PlaceReporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.report({"place": "nordnes", "region": "bergen", "epsilon": "1"})

    A report tells the region and the epsilon, both the user's choice, as they are. Within the region it hides the
    place at that epsilon, which the ledger charges. As long as nothing of this changes, every report repeats the same
    answer. See `RecordReporter`.
    """

    def __init__(self, collection: PlaceCollection, **options: Any) -> None:
        """Prepare for one collection; the options are those of `RecordReporter`."""
        super().__init__(of_kind(collection, PlaceCollection, client=self), **options)
        self._places = collection

    def _perturbed(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool
    ) -> NDArray[np.uint8]:
        numbers = self._places.chosen(table)
        if secrets is not None and memoises:
            return permanent_answers(self._places, table, secrets=secrets, numbers=numbers)
        return self._places.questions.perturb(numbers, table, entropy=self._entropy)

    def _charged(self, table: NDArray[Any], *, secret: bytes, ledger: PrivacyLedger) -> Iterable[AttributeReport]:  # noqa: ARG002
        return ledger.place_reports(self._places, table)
