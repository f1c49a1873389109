"""Reports that carry pseudonyms: which of them are one user's, and what all of a user's reports reveal together.

In the rows of a linked collection, a pseudonym stands before the bits of the report. A user keeps it for a period, so
the estimate of a window is made of all reports of the period that the window's users have sent until then. How often
each bit was 1 in them reveals as much as the reports themselves, since they are independent draws around one
permanent response.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.pseudonym import PSEUDONYM_BITS, PSEUDONYM_BYTES
from stream_ldp.pipeline.statistics import RowCounts


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class LinkedUsers:
    """The users who reported in a window, and the reports that they have sent in its period until its end.

    reports: number of reports of each, int64, shape (users,).
    ones: how many of them have each bit set, int64, shape (users, bits).
    in_window: number of reports of each in the window itself, int64, shape (users,).
    returned: which of them reported in the previous window, of the same period; bool, shape (users,). None if there
        is none in the period.
    """

    reports: NDArray[np.int64]
    ones: NDArray[np.int64]
    in_window: NDArray[np.int64]
    returned: NDArray[np.bool_] | None

    @classmethod
    def of(cls, windows: Sequence[RowCounts], *, bits: int) -> Self:
        """Gather the reports of each user.

        windows: counts of rows with pseudonyms, of the window itself and then of those before it, the newest first.
        bits: number of bits of a report, without the pseudonym.

        Raises:
            ValueError: rows of a window have another number of bits.
        """
        for window in windows:
            if window.bits != PSEUDONYM_BITS + bits:
                raise ValueError(f"rows of {window.bits} bits, where linked reports have {PSEUDONYM_BITS + bits}")
        users = np.unique(_pseudonyms(windows[0].rows))
        reports, ones = np.zeros(len(users), dtype=np.int64), np.zeros((len(users), bits), dtype=np.int64)
        of_window = []
        for window in windows:
            named = _pseudonyms(window.rows)
            place = np.searchsorted(users, named)
            known = place < len(users)
            known[known] = users[place[known]] == named[known]
            of, counts = place[known], window.counts[known].astype(np.int64)
            set_bits = window.unpacked()[known, PSEUDONYM_BITS:]
            of_window.append(_sums(of, counts, len(users)))
            reports += of_window[-1]
            for bit in range(bits):
                ones[:, bit] += _sums(of, counts * set_bits[:, bit], len(users))
        return cls(
            reports=reports,
            ones=ones,
            in_window=of_window[0],
            returned=of_window[1] > 0 if len(of_window) > 1 else None,
        )

    @property
    def reports_per_user(self) -> float:
        """The sum m^2 / sum m over the users with m reports each in the window itself; 1 without users."""
        return _mean_of_reports(self.in_window)

    @property
    def returning(self) -> float | None:
        """Share of the users who reported in the previous window; None if the period has no such window."""
        return None if self.returned is None or not len(self.returned) else float(self.returned.mean())


def each_user_once(window: RowCounts) -> RowCounts:
    """Count the reports of a window without pseudonyms, each as one part of all that its user has sent in it.

    So no user is more than one of them, who may have sent millions.
    """
    named, of = np.unique(_pseudonyms(window.rows), return_inverse=True)
    parts = window.counts / np.bincount(of, weights=window.counts, minlength=len(named))[of]
    counts = RowCounts(bits=window.bits, rows=window.rows, counts=parts)
    return counts.mapped(window.rows[:, PSEUDONYM_BYTES:], bits=window.bits - PSEUDONYM_BITS)


def reports_per_user(rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute sum m^2 / sum m over the users of each batch, with m of its reports each, shape (batches,).

    rows: with pseudonyms, of all batches one after another.
    counts: number of rows of each batch, at least 1.
    """
    named, batch = _pseudonyms(rows), np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((named, batch))
    named, batch = named[order], batch[order]
    firsts = np.flatnonzero(np.append(True, (named[1:] != named[:-1]) | (batch[1:] != batch[:-1])))
    squares = np.square(np.diff(firsts, append=len(named)))
    return np.bincount(batch[firsts], weights=squares, minlength=len(counts)) / counts


def users_of(parts: Sequence[RowCounts]) -> int:
    """Count the pseudonyms in the rows of a window's parts."""
    return len(np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *(_pseudonyms(part.rows) for part in parts)])))


def _pseudonyms(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the pseudonym of each row as a number, shape (rows,)."""
    return np.ascontiguousarray(rows[:, :PSEUDONYM_BYTES]).view("<u8").reshape(-1)


def _mean_of_reports(reports: NDArray[np.int64]) -> float:
    """Compute how many reports the user of an average report has sent; 1 without any."""
    total = int(reports.sum())
    return float(np.square(reports).sum()) / total if total else 1.0


def _sums(places: NDArray[np.intp], numbers: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    # Sums of fewer than 2^53 reports are exact in float64.
    return np.bincount(places, weights=numbers, minlength=length).astype(np.int64)
