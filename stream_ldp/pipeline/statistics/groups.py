"""The statistics of a pane that are sent together, as one record: each record costs its writer and its readers more
than a small table does.
"""

from collections.abc import Callable, Iterator, Mapping

from stream_ldp.pipeline.statistics.sending import SMALL_BYTES, Room
from stream_ldp.pipeline.statistics.statistic import Statistic, Tally, WholeTally

#: Most bytes in memory of the statistics of a group that has several: on the log they take no more, half of the
#: largest record.
GROUP_BYTES = 2**23

_Name = tuple[str, ...]


def groups_of(tallies: Mapping[_Name, Tally]) -> Iterator[Mapping[_Name, WholeTally]]:
    """Divide the statistics of a layout, always in the same way, so that a record can replace the one before.

    Small ones are sent whenever they have changed, and large ones are not: no group has both. One that may have
    several segments, which change one after the other, is in none.
    """
    wholes = {of: whole for of, tally in tallies.items() if (whole := tally.whole) is not None}
    for small in (True, False):
        group: dict[_Name, WholeTally] = {}
        filled = 0
        for of, whole in wholes.items():
            if (whole.nbytes <= SMALL_BYTES) is not small:
                continue
            if group and filled + whole.nbytes > GROUP_BYTES:
                yield group
                group, filled = {}, 0
            group[of] = whole
            filled += whole.nbytes
        if group:
            yield group


def take_changed(
    tallies: Mapping[_Name, Tally],
    *,
    closing: bool,
    room: Room | None = None,
    gathered: int = 0,
    count: Callable[[], object] = lambda: None,
) -> Iterator[Mapping[_Name, Mapping[int, Statistic]]]:
    """Yield what is to be sent of the statistics of a layout: for each record, segments by name and number.

    A record replaces the one of the group before. So if anything of a group is due, all of it is sent.

    closing: whether this is the last call, which must leave out no report.
    room: that of the flush, from which large groups take, unless it is the last call; unlimited by default.
    gathered: most reports that the tallies lack.
    count: lets them count these, before anything is taken; large tables that are not sent need not have counted them.
    """
    room = room or Room()
    counted = closing or any(tally.whole is None for tally in tallies.values())
    if counted:
        count()
    # Those that have waited longest come first, so that each has its turn.
    for group in sorted(groups_of(tallies), key=lambda group: -max(whole.waits for whole in group.values())):
        wholes = group.values()
        more = 0 if counted else gathered
        due = any(whole.is_due(closing=closing, more=more) for whole in wholes)
        large = not closing and any(whole.nbytes > SMALL_BYTES for whole in wholes)
        if due and not (large and not room.take(sum(whole.nbytes for whole in wholes))):
            if not counted:
                count()
                counted = True
            yield {of: {0: whole.take_whole()} for of, whole in group.items()}
        else:
            for whole in wholes:
                whole.note_wait(more=more)
    for of, tally in tallies.items():
        if tally.whole is None:
            for segment, counts in sorted(tally.take_changed(closing=closing).items()):
                yield {of: {segment: counts}}
