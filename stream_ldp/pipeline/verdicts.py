"""The verdicts on decoded batches: which are counted, and why each of the others is not.

The time of a batch is judged here, by the clock of the broker and by the watermark. Whether its pane has room for it
is up to the pane (`stream_ldp.pipeline.open_pane`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.windows import closes_at, pane_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from stream_ldp.collection import Window
    from stream_ldp.pipeline import wire
    from stream_ldp.pipeline.layout import Layout
    from stream_ldp.pipeline.pane_limits import PaneLimits

#: A watermark before all time.
NEVER = int(np.iinfo(np.int64).min)


class Verdict(IntEnum):
    """The effect of a batch that could be decoded."""

    COUNTED = 0
    DUPLICATE = 1
    AHEAD = 2  # too far ahead of the broker's clock
    BEHIND = 3  # too far behind the broker's clock
    CLOSED = 4  # its phase is asked in another window
    LATE = 5
    CROWDED = 6  # its pane has as many batches as it may have
    FULL = 7  # its pane has as many linked reports as it may have
    OLD = 8  # read again after a restart: its verdict has been reported


class Timed(NamedTuple):
    """Batches whose time has been judged; the arrays are int64, of shape (batches,).

    verdicts: `Verdict.COUNTED`, or what is wrong with the time.
    panes: start of the pane of each; of no meaning where the time is out of reach of the broker's clock.
    watermark_ms: event time that the partition has reached with the last of them.
    """

    verdicts: NDArray[np.int64]
    panes: NDArray[np.int64]
    watermark_ms: int


def judge_times(
    decoded: wire.Decoded,
    appended_ms: NDArray[np.int64],
    *,
    window: Window,
    layouts: Sequence[Layout],
    watermark_ms: int,
) -> Timed:
    """Judge the times of batches, in log order.

    appended_ms: time at which the broker appended each, by its clock, int64, shape (batches,).
    layouts: those whose positions `decoded.formats` holds.
    watermark_ms: event time that the partition had reached before; NEVER before its first batch.
    """
    time = decoded.time_ms
    ahead, behind = time > appended_ms + window.ahead_ms, time < appended_ms - window.max_age_ms
    within_reach = ~(ahead | behind)
    # A producer's clock that runs ahead must not advance the watermark beyond the broker's clock, or the reports
    # of all others would be late.
    reached = np.where(within_reach, np.minimum(time, appended_ms), NEVER)
    watermarks = np.maximum.accumulate(np.concatenate(([watermark_ms], reached)))
    panes = pane_of(np.where(within_reach, time, 0), window)
    closed = ~_within_phase(layouts, decoded, panes)
    late = closes_at(panes, window) <= watermarks[:-1]
    # The first fault of a batch gives the reason.
    verdicts = np.select(
        [ahead, behind, closed, late],
        [Verdict.AHEAD, Verdict.BEHIND, Verdict.CLOSED, Verdict.LATE],
        default=Verdict.COUNTED,
    )
    return Timed(verdicts, panes, int(watermarks[-1]))


def _within_phase(layouts: Sequence[Layout], decoded: wire.Decoded, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Decide which batches have a fingerprint whose reports may belong to their pane; bool, shape (batches,)."""
    within = np.zeros(len(panes), dtype=np.bool_)
    for place, layout in enumerate(layouts):
        ours = decoded.formats == place
        if ours.any():
            within[ours] = layout.takes(panes[ours])
    return within


def rejections(
    decoded: wire.Decoded,
    verdicts: NDArray[np.int64],
    *,
    window: Window,
    limits: Callable[[int], PaneLimits],
) -> Iterator[tuple[int, Rejected]]:
    """Yield the index of the record, and the rejection, of each batch whose verdict is one.

    verdicts: those on `decoded.accepted`, int64, shape (batches,).
    limits: returns those by which the batch at a position of `decoded.accepted` is decided.
    """
    if (verdicts <= Verdict.DUPLICATE).all():
        return
    for verdict, reason, rule in (
        (Verdict.AHEAD, Reason.FUTURE_TIME, f"more than {window.ahead_ms} ms ahead of the broker's clock"),
        (Verdict.BEHIND, Reason.PAST_TIME, f"more than {window.max_age_ms} ms behind the broker's clock"),
        (Verdict.CLOSED, Reason.CLOSED_PHASE, "the phase that it reports to is asked in another window"),
        (Verdict.LATE, Reason.LATE, "its window had closed"),
        (
            Verdict.CROWDED,
            Reason.TOO_MANY_BATCHES,
            "its pane has {limits.batches} batches of this partition already, "
            "as many as max_batches allowed at this offset",
        ),
        (
            Verdict.FULL,
            Reason.TOO_MANY_LINKED,
            "with it, its pane would have more than {limits.linked} linked reports of this partition, "
            "as many as max_linked allowed at this offset",
        ),
    ):
        for place in np.flatnonzero(verdicts == verdict):
            named, time_ms = rule.format(limits=limits(int(place))), int(decoded.time_ms[place])
            yield int(decoded.accepted[place]), Rejected(reason, f"event time {moment(time_ms)}: {named}")
