"""The watermarks of all regions of one collection; the slowest decides what is closed."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import chain

from stream_ldp.pipeline.partials import MergeRecord, PartialError
from stream_ldp.pipeline.source import Source
from stream_ldp.pipeline.source_watermarks import SourceWatermarks


class ForeignSource(PartialError):
    """A record of a source that the merge does not wait for, and that can hide nothing which it needs."""


class RegionWatermarks:
    """The watermarks of the source partitions, by region.

    names: of the regions, the home first, whose reports are on the brokers of the merge; a single empty one where
        there are none.
    """

    def __init__(self, names: Sequence[str], *, partitions: int) -> None:
        """Begin without watermarks.

        partitions: number of source partitions of the home.
        """
        self.names = tuple(names)
        self._regions = {name: SourceWatermarks(partitions=0) for name in names}
        self.home.widen(partitions)

    @property
    def home(self) -> SourceWatermarks:
        """Those of the home."""
        return self._regions[self.names[0]]

    def __getitem__(self, name: str) -> SourceWatermarks:
        return self._regions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._regions

    @property
    def time_ms(self) -> int | None:
        """Event time, in milliseconds, that every region has passed, or is left out of; None until they have."""
        times_ms = [each.time_ms for each in self._regions.values()]
        passed = [each for each in times_ms if each is not None]
        return min(passed) if len(passed) == len(times_ms) else None

    @property
    def offsets(self) -> Iterator[int]:
        """The offsets of all records that are needed."""
        return chain.from_iterable(each.offsets for each in self._regions.values())

    def find(self, record: MergeRecord) -> SourceWatermarks:
        """Return those of the region that a record is of.

        Raises:
            ForeignSource: the merge does not wait for this region.
        """
        if record.region in self._regions:
            return self._regions[record.region]
        if self.names == ("",):
            raise ForeignSource(
                f"a partial of region {record.region!r}, and this merge has no regions -> name them in the setting "
                "regions"
            )
        close = difflib.get_close_matches(record.region, self.names, n=1)
        meant = f", did you mean {close[0]!r}?" if close else ""
        raise ForeignSource(
            f"a partial of {f'region {record.region!r}' if record.region else 'no region'}, and this merge has the "
            f"regions {', '.join(self.names)}{meant} -> mend the setting region of the workers that sent it, or the "
            "setting regions of those that merge"
        )

    def closed_by(self, source: Source, closes_ms: int) -> int | None:
        """Return the first generation of a source that has passed an event time; None if none has."""
        return self._regions[source.region].closed_by(source.partition, closes_ms)

    def forget(self, *, before_ms: int) -> None:
        """Forget what has not reached an event time; see `SourceWatermarks.forget`."""
        for each in self._regions.values():
            each.forget(before_ms=before_ms)
