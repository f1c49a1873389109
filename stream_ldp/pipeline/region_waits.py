"""Decide when windows go on without a region that is behind the others.

The decision depends on clocks, so it is written to the log before anything follows from it: see
`stream_ldp.pipeline.partials.CutOff`. A decision that another worker makes late does no harm: a region is left out of
what it has not closed itself by then, as the log has it.
"""

from collections.abc import Mapping

from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import CutOff
from stream_ldp.pipeline.verdicts import NEVER
from stream_ldp.pipeline.windows import panes_closed


class RegionWaits:
    """How long the windows of one collection have been waiting for each region."""

    def __init__(self, merge: Merge, waits: Mapping[str, float | None]) -> None:
        """Begin to wait.

        waits: seconds that windows wait for a region, by its name; None for as long as it takes.
        """
        self._merge = merge
        self._waits = waits
        self._longest = max((wait for wait in waits.values() if wait is not None), default=0.0)
        # Numbers of panes that the furthest region has closed, and since when, ascending.
        self._led: list[tuple[int, float]] = []
        # By region: the number of panes up to which a record leaves it out that may not have been read yet.
        self._decided: dict[str, int] = {}

    @property
    def lag_ms(self) -> dict[str, int]:
        """How far each region is behind the furthest one, in milliseconds of event time; if it has been heard of."""
        times_ms = {name: self._merge.regions[name].own_ms for name in self._waits}
        heard = {name: time_ms for name, time_ms in times_ms.items() if time_ms is not None}
        return {name: max(heard.values()) - time_ms for name, time_ms in heard.items()}

    @property
    def cut_off(self) -> list[str]:
        """The regions that windows go on without, until they are heard of again."""
        return [name for name in self._waits if not self._merge.regions[name].heard]

    def due(self, *, now: float, now_ms: int) -> list[CutOff]:
        """Return the records by which regions are left out from now on.

        Windows wait for a region from when the first one has closed them, and not before they have ended by the clock
        of this worker. So a region whose clock is ahead makes no other one late. They do not wait again for one
        that has not been heard of since it was left out.

        now: monotonic time, in seconds.
        now_ms: time of day, in milliseconds since 1970-01-01 UTC.
        """
        regions, collection = self._merge.regions, self._merge.collection
        times_ms = {name: regions[name].time_ms for name in self._waits}
        passed = [time_ms for time_ms in times_ms.values() if time_ms is not None]
        if not passed:
            return []
        window = collection.window
        led = panes_closed(min(max(passed), now_ms), window)
        if not self._led or led > self._led[-1][0]:
            self._led.append((led, now))
        while len(self._led) > 1 and now >= self._led[1][1] + self._longest:
            del self._led[0]
        found = []
        for name, wait in self._waits.items():
            if wait is None:
                continue
            waited = [number for number, since in self._led if now >= since + wait or not regions[name].heard]
            time_ms = times_ms[name]
            closed = panes_closed(NEVER if time_ms is None else time_ms, window)
            if not waited or waited[-1] <= max(closed, self._decided.get(name, closed)):
                continue
            self._decided[name] = waited[-1]
            found.append(
                CutOff(
                    collection=collection.name,
                    fingerprint=self._merge.fingerprint,
                    region=name,
                    time_ms=waited[-1] * window.pane_ms + window.grace_ms,
                    passed=regions[name].passed,
                )
            )
        return found
