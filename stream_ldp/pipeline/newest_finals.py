"""The newest final answers of each series of one collection, which the next ones start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.pipeline.answer import AnswerT, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stream_ldp.collection import Collection, Series
    from stream_ldp.pipeline.answer import Answer

#: Number of final answers kept of each series: the newest and the one before it. With pipelined epochs, phase 1 of a
#: window is solved before phase 2 of the same window, which starts from phase 1 of the previous window: by then that
#: is the last but one.
KEPT_FINALS = 2


def kept_finals(collection: Collection) -> int:
    """Return how many final answers of each series are kept: all those of a period, where windows alternate."""
    return max(KEPT_FINALS, collection.period_turns + 1)


def final_followed(finals: Sequence[AnswerT], *, start_ms: int | None, same_phase_ms: int | None) -> AnswerT | None:
    """Find the final that an answer starts from; None if there is none.

    finals: of the series that it follows, oldest first.
    start_ms: start of its window, where only that will do: see `Series.follows`.
    same_phase_ms: start of the window one period before, which is taken if it has a final; else it is the newest.
    """
    by_start = {final.window.start_ms: final for final in finals}
    if start_ms is not None:
        return by_start.get(start_ms)
    if same_phase_ms in by_start:
        return by_start[same_phase_ms]
    return finals[-1] if finals else None


class NewestFinals:
    """The newest finals of each series, and where on the answers topic they are."""

    def __init__(self, collection: Collection) -> None:
        """Begin without finals."""
        self._collection = collection
        # By series, in the order of their windows.
        self._finals: dict[str, list[Answer]] = {}
        # By series: the end of the newest windows of which a final says that nobody reported in them.
        self._silent_ms: dict[str, int] = {}
        # By series, and end of the window, of the finals in the two above: their offsets on the log.
        self._offsets: dict[str, dict[int, int]] = {}

    def add(self, answer: Answer, *, offset: int) -> list[Answer]:
        """Take note of a final that is on the log, at an offset of the answers topic.

        Returns:
            The finals that may be there since then, or not any more; none for one that has no reports.
        """
        series, end_ms = answer.series, answer.window.end_ms
        offsets = self._offsets.setdefault(series, {})
        offsets.setdefault(end_ms, offset)
        if answer.status is Status.NO_REPORTS:
            self._silent_ms[series] = max(self._silent_ms.get(series, end_ms), end_ms)
            finals = {}
        else:
            finals = {each.window.end_ms: each for each in self._finals.get(series, ())}
            finals.setdefault(end_ms, answer)
            self._finals[series] = [finals[final] for final in sorted(finals)[-kept_finals(self._collection) :]]
        needed = {each.window.end_ms for each in self._finals.get(series, ())} | {self._silent_ms.get(series)}
        self._offsets[series] = {end: at for end, at in offsets.items() if end in needed}
        return list(finals.values())

    def of(self, series: str) -> tuple[Answer, ...]:
        """Return the newest finals of a series, given by name, that have reports; oldest first."""
        return tuple(self._finals.get(series, ()))

    def all(self) -> list[Answer]:
        """Return the newest finals of every series that have reports, oldest first."""
        return sorted(
            (answer for finals in self._finals.values() for answer in finals), key=lambda each: each.window.end_ms
        )

    def silent_until(self, series: str) -> int | None:
        """Return the end of the newest windows in which, by a final, nobody reported; None without such a final."""
        return self._silent_ms.get(series)

    def before(self, window_ms: int, series: Series) -> Answer | None:
        """Find the final that the answer to a window starts from: see `Series.follows`."""
        name, start_ms = series.follows(window_ms)
        return final_followed(
            self._finals.get(name, ()), start_ms=start_ms, same_phase_ms=self._collection.same_phase_ms(window_ms)
        )

    def earlier(self, window_ms: int) -> dict[str, Answer]:
        """Return the last final before a window of each series that has one, by the name of the series."""
        found = {
            name: [final for final in finals if final.window.start_ms < window_ms]
            for name, finals in self._finals.items()
        }
        return {name: finals[-1] for name, finals in found.items() if finals}

    def offsets(self, series: Iterable[Series]) -> Iterator[int]:
        """Yield the offsets of the finals of some series that the next ones depend on."""
        return (offset for each in series for offset in self._offsets.get(each.name, {}).values())
