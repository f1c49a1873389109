"""This module reports records to sampled collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.client.record_reporter import RecordReporter
from stream_ldp.client.sender import of_kind
from stream_ldp.mechanisms import random_words
from stream_ldp.questions.collection import AskingCollection
from stream_ldp.questions.permanent import asked, permanent_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
    from stream_ldp.privacy.ledger.reports import AttributeReport

__all__ = ["SampledReporter"]


class SampledReporter(RecordReporter):
    """A reporter sends reports of records to a sampled collection, a `SampledCollection`.

        async with SampledReporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.report({"diet": "fish", "age": "41"})

    Each report answers the one question that the user's secret determines; what the record says beside it does not
    leave this machine, not even with noise. As long as it does not change, every report repeats the same answer. See
    `RecordReporter`.
    """

    def __init__(self, collection: AskingCollection, **options: Any) -> None:
        """Prepare for one collection; the options are those of `RecordReporter`."""
        super().__init__(of_kind(collection, AskingCollection, client=self), **options)
        self._sampled = collection

    def _perturbed(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool
    ) -> NDArray[np.uint8]:
        if secrets is not None and memoises:
            answers = permanent_answers(self._sampled, table, secrets=secrets)
            return self._sampled.questions.instantaneous(answers, entropy=self._entropy)
        if secrets is None:
            numbers = self._sampled.questions.numbers(random_words(len(table), entropy=self._entropy))
        else:
            numbers = asked(self._sampled, secrets=secrets)
        return self._sampled.questions.perturb(numbers, table, entropy=self._entropy)

    def _charged(self, table: NDArray[Any], *, secret: bytes, ledger: PrivacyLedger) -> Iterable[AttributeReport]:
        return ledger.answer_reports(self._sampled, table, secret=secret)
