"""Gather reports into batches, as a pure state machine: time and randomness are arguments."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection import Collection, Window
from stream_ldp.mechanisms import Entropy, random_order, random_words
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.pipeline.wire import HEADER_BYTES, Batch

#: A broker takes records of 2^20 bytes by default; the rest is for the record's own overhead.
MAX_BATCH_BYTES = 1_000_000

_ID_WORDS = 4  # 16 bytes


def most_reports(bits: int) -> int:
    """Return the number of reports of so many bits that fit a record, at least one."""
    return max(1, (MAX_BATCH_BYTES - HEADER_BYTES) // row_width(bits))


def batch_of(rows: NDArray[np.uint8], *, fingerprint: bytes, time_ms: int, window: Window, entropy: Entropy) -> Batch:
    """Make a batch of packed reports, uint8, shape (n, row width), with an id of its own and in random order.

    In the order in which they were made, a report's place would show when its user reported. To the millisecond, its
    time beside that of the broker would show the offset of the client's clock, by which a device is known again.

    time_ms: the client's time, which is rounded.
    """
    order = random_order(len(rows), entropy=entropy)
    batch_id = random_words(_ID_WORDS, entropy=entropy).tobytes()
    return Batch(fingerprint=fingerprint, batch_id=batch_id, time_ms=window.rounded(time_ms), rows=rows[order])


class Batcher:
    """A batcher fills batches of one collection up to a size.

    A batch ends early where the pane changes: it has one event time, and its reports must all belong to the windows
    that this time belongs to. Its time is that of its newest report, rounded.
    """

    def __init__(self, collection: Collection, *, max_reports: int, entropy: Entropy) -> None:
        """Start with no reports.

        max_reports: the most reports of one batch.
        entropy: source of batch ids and of the order of reports; see `Reporter`.
        """
        self._collection = collection
        self._max_reports = max_reports
        self._entropy = entropy
        self._rows: list[NDArray[np.uint8]] = []
        self._count = 0
        self._time_ms = 0

    @property
    def count(self) -> int:
        """Number of reports that wait for their batch to fill."""
        return self._count

    def add(self, rows: NDArray[np.uint8], *, time_ms: int) -> list[Batch]:
        """Add packed reports of one time, uint8, shape (n, row width), and return the batches that this completes."""
        window = self._collection.window
        complete = []
        if self._count and pane_of(time_ms, window) != pane_of(self._time_ms, window):
            complete.append(self._cut())
        self._time_ms = time_ms
        while len(rows):
            part = rows[: self._max_reports - self._count]
            self._rows.append(part)
            self._count += len(part)
            rows = rows[len(part) :]
            if self._count == self._max_reports:
                complete.append(self._cut())
        return complete

    def cut(self) -> Batch | None:
        """Return the batch as it is, however small; None if there are no reports."""
        return self._cut() if self._count else None

    def _cut(self) -> Batch:
        rows = self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)
        self._rows, self._count = [], 0
        return batch_of(
            rows,
            fingerprint=self._collection.fingerprint,
            time_ms=self._time_ms,
            window=self._collection.window,
            entropy=self._entropy,
        )
