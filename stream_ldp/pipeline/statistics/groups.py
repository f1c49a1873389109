"""The statistics of a pane that are sent together, as one record: each record costs its writer and its readers more
than a small table does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.statistics.sending import SMALL_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_ldp.pipeline.statistics.statistic import Statistic, Tally

#: Most bytes in memory of the statistics of a group that has several: on the log they take no more, half of the
#: largest record.
GROUP_BYTES = 2**23

_Name = tuple[str, ...]


def groups_of(tallies: Mapping[_Name, Tally]) -> Iterator[tuple[_Name, ...]]:
    """Divide the statistics of a layout, always in the same way, so that a record can replace the one before.

    Small ones are sent whenever they have changed, and large ones are not: no group has both. One that may have
    several segments, which change one after the other, is in none.
    """
    for small in (True, False):
        group: tuple[_Name, ...] = ()
        filled = 0
        for of, tally in tallies.items():
            if tally.nbytes is None or (tally.nbytes <= SMALL_BYTES) is not small:
                continue
            if group and filled + tally.nbytes > GROUP_BYTES:
                yield group
                group, filled = (), 0
            group, filled = (*group, of), filled + tally.nbytes
        if group:
            yield group


def take_changed(
    tallies: Mapping[_Name, Tally], *, closing: bool
) -> Iterator[Mapping[_Name, Mapping[int, Statistic]]]:
    """Yield what is to be sent of the statistics of a layout: for each record, segments by name and number.

    A record replaces the one of the group before. So if anything of a group is due, all of it is sent.

    closing: whether this is the last call, which must leave out no report.
    """
    for group in groups_of(tallies):
        if any(tallies[of].is_due(closing=closing) for of in group):
            yield {of: {0: tallies[of].take_whole()} for of in group}
    for of, tally in tallies.items():
        if tally.nbytes is None:
            for segment, counts in sorted(tally.take_changed(closing=closing).items()):
                yield {of: {segment: counts}}
