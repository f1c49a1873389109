"""Panes and windows of event time.

Time is cut into panes, one hop long. A window is the run of panes that ends with its last one: one pane in a
tumbling window, size / hop of them in a sliding one. A pane closes, for good, when the watermark has passed its end
by the grace; a window is final when its last pane has closed. Lateness is decided by the pane, so that all the
windows that share one agree on what is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.collection import Window

Time = TypeVar("Time", int, "NDArray[np.int64]")  # one event time, or many at once

#: The first and the last millisecond of the years 1 to 9999, beyond which neither ISO 8601 nor Python has a way to
#: write an event time.
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999


def pane_of(time_ms: Time, window: Window) -> Time:
    """Return the start of the pane that an event time falls into; panes are aligned to 1970-01-01 UTC."""
    return time_ms - time_ms % window.pane_ms


def closes_at(pane: Time, window: Window) -> Time:
    """Return the watermark at which a pane closes."""
    return pane + window.pane_ms + window.grace_ms


def panes_closed(watermark_ms: int, window: Window) -> int:
    """Count the panes since 1970-01-01 UTC that a watermark closes."""
    return (watermark_ms - window.grace_ms) // window.pane_ms


def panes_of(start: int, window: Window) -> range:
    """List the starts of the panes of the window that begins at `start`."""
    return range(start, start + window.size_ms, window.pane_ms)


def windows_of(pane: int, window: Window) -> range:
    """List the starts of the windows that a pane is part of, earliest first."""
    return range(pane - window.size_ms + window.pane_ms, pane + window.pane_ms, window.pane_ms)
