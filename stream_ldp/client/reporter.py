"""This module reports records to collections of joint distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.client.record_reporter import RecordReporter
from stream_ldp.client.sender import of_kind
from stream_ldp.records.collection import JointCollection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.privacy.ledger.ledger_file import PrivacyLedger
    from stream_ldp.privacy.ledger.reports import AttributeReport

__all__ = ["Reporter"]


class Reporter(RecordReporter):
    """A reporter sends reports of records to a collection of joint distributions, a `JointCollection`.

        secret, ledger = load_or_create_user("/home/ada/secret", terms=Terms(budget=4.0))
        async with Reporter(collection, settings=Settings.load(), secret=secret, ledger=ledger) as reporter:
            await reporter.report({"bathing": "no", "mobility": "some"})

    See `RecordReporter`.
    """

    def __init__(self, collection: JointCollection, **options: Any) -> None:
        """Prepare for one collection; the options are those of `RecordReporter`."""
        super().__init__(of_kind(collection, JointCollection, client=self), **options)
        self._mechanism = collection.mechanism
        self._joint = collection
        self._words = collection.permanent_words()

    def _rows(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool, time_ms: int
    ) -> NDArray[np.uint8]:
        # Reports without permanent noise in common have nothing to be linked for.
        known = secrets if memoises else None
        names = self._joint.pseudonyms(len(table), secrets=known, time_ms=time_ms, entropy=self._entropy)
        return np.concatenate([names, self._perturbed(table, secrets=secrets, memoises=memoises)], axis=1)

    def _perturbed(
        self, table: NDArray[Any], *, secrets: Sequence[bytes] | None, memoises: bool
    ) -> NDArray[np.uint8]:
        words = self._words.words_of(secrets, table) if secrets is not None and memoises else None
        return self._mechanism.perturb(table, entropy=self._entropy, permanent_words=words)

    def _charged(
        self,
        table: NDArray[Any],
        *,
        secret: bytes,  # noqa: ARG002
        ledger: PrivacyLedger,
    ) -> Iterable[AttributeReport]:
        return ledger.attribute_reports(self._joint, table.tolist())
