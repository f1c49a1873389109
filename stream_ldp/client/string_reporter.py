"""This module reports records to collections of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_ldp.client.record_reporter import RecordReporter
from stream_ldp.client.sender import of_kind
from stream_ldp.mechanisms import random_words
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.permanent import asked, permanent_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
    from stream_ldp.privacy.ledger.reports import AttributeReport

__all__ = ["StringReporter"]


class StringReporter(RecordReporter):
    """A reporter sends reports of strings to a collection of them, a `StringCollection`.

        async with StringReporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.report({"word": "apple"})

    Each report answers the one question that the user's secret determines, such as that about the first two letters.
    As long as the string does not change, every report repeats the same answer. See `RecordReporter`.
    """

    def __init__(self, collection: StringCollection, **options: Any) -> None:
        """Prepare for one collection; the options are those of `RecordReporter`."""
        super().__init__(of_kind(collection, StringCollection, client=self), **options)
        self._strings = collection

    def _perturbed(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool
    ) -> NDArray[np.uint8]:
        if secrets is not None and memoises:
            return permanent_answers(self._strings, table, secrets=secrets)
        questions = self._strings.method.questions
        if secrets is None:
            numbers = questions.numbers(random_words(len(table), entropy=self._entropy))
            seeds = random_words(len(table), entropy=self._entropy)
        else:
            numbers, seeds = asked(self._strings, secrets=secrets)
        return questions.perturb(numbers, seeds, questions.inputs(numbers, seeds, table), entropy=self._entropy)

    def _charged(self, table: NDArray[Any], *, secret: bytes, ledger: PrivacyLedger) -> Iterable[AttributeReport]:
        return ledger.string_reports(self._strings, table, secret=secret)
