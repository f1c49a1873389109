"""Keep the answers that the page shows, without knowing how they came."""

from __future__ import annotations

import json
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.collection.labels import codes_of
from stream_ldp.kinds import KINDS, kind_of
from stream_ldp.pipeline.answer import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_ldp.collection import Collection
    from stream_ldp.collection.labels import Labels
    from stream_ldp.pipeline.answer import Answer

#: Final answers of each series that are kept: an hour of windows of a minute. One with 4,096 cells has 200 kB.
FINALS = 60


class History:
    """A history holds, for each series of each collection, the last final answers and the provisional one after them.

    Answers are kept as the JSON that was published, with labels in place of values, so a reader sees the same numbers
    as on the topic. All readers
    share these bytes: copies for each would let anyone fill the memory by asking and not reading.
    """

    def __init__(
        self,
        collections: dict[str, dict[str, Any]],
        *,
        finals: int = FINALS,
        labels: Mapping[str, Labels] = MappingProxyType({}),
        attributes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Start without answers.

        collections: what is known of each collection beforehand, by name; plain data.
        labels: what people read in place of values, by collection.
        attributes: names of those of each collection; none of one that has none, or whose are not known.
        finals: number of final answers of each series to keep.
        """
        self.attributes = attributes
        self._collections = collections
        self._labels = labels
        self._most = finals
        self._finals: dict[tuple[str, str], deque[tuple[int, bytes]]] = {}
        self._open: dict[tuple[str, str], tuple[int, bytes]] = {}

    @classmethod
    def of(cls, collections: Sequence[Collection], *, finals: int = FINALS, **more: Any) -> Self:
        """Start without answers of some collections.

        more: what readers see of each of them besides; plain data.
        """
        listed = {each.name: _known(each) | more for each in collections}
        attributes = {each.name: [of.name for of in getattr(each, "attributes", ())] for each in collections}
        return cls(
            listed, finals=finals, labels={each.name: each.labels for each in collections}, attributes=attributes
        )

    def add(self, answer: Answer) -> bytes | None:
        """Take an answer, and return it as a line of JSON; None if the series already has a final of that window.

        Raises:
            KeyError: its collection is not one of these.
        """
        if answer.collection not in self._collections:
            raise KeyError(answer.collection)
        series = (answer.collection, answer.series)
        start, line = answer.window.start_ms, answer.labelled(self.labels(answer.collection)).to_bytes()
        finals = self._finals.setdefault(series, deque(maxlen=self._most))
        if finals and start <= finals[-1][0]:
            return None
        if answer.final:
            finals.append((start, line))
            if series in self._open and self._open[series][0] <= start:
                del self._open[series]
        else:
            self._open[series] = (start, line)
        return line

    @property
    def collections(self) -> Sequence[str]:
        """Names of the collections whose answers it holds."""
        return list(self._collections)

    def finals(self, collection: str) -> list[Any]:
        """Return the final answers of a collection that are kept, with reports, by the time of their windows."""
        answers = KINDS[self._collections[collection]["kind"]].answer
        lines = [each for finals in self._finals_of(collection) for each in list(finals)]
        codes = codes_of(self.labels(collection))
        found = [answers.from_bytes(line).labelled(codes) for _, line in sorted(lines, key=lambda each: each[0])]
        return [each for each in found if each.status is Status.ANSWERED]

    def labels(self, collection: str) -> Labels:
        """Return what people read in place of a collection's values."""
        return self._labels.get(collection, {})

    def oldest(self, collection: str) -> int | None:
        """Return the start of the oldest window that still has a final, milliseconds since 1970-01-01 UTC."""
        starts = [finals[0][0] for finals in self._finals_of(collection) if finals]
        return min(starts, default=None)

    def _finals_of(self, collection: str) -> list[deque[tuple[int, bytes]]]:
        """Return the finals of each series of a collection; on a thread, while others may be added on the loop."""
        return [finals for (name, _), finals in list(self._finals.items()) if name == collection]

    def snapshot(self) -> Iterator[bytes]:
        """Return the parts of a line of JSON with all that is known, {"collections": {...}, "answers": [...]}.

        Answers are those of now, the oldest first.
        """
        kept = [each for finals in self._finals.values() for each in finals] + list(self._open.values())
        lines = [line for _, line in sorted(kept, key=lambda each: each[0])]
        return self._parts(lines)

    def _parts(self, lines: list[bytes]) -> Iterator[bytes]:
        yield f'{{"collections": {json.dumps(self._collections)}, "answers": ['.encode()
        for place, line in enumerate(lines):
            if place:
                yield b", "
            yield line
        yield b"]}"


def _known(collection: Collection) -> dict[str, Any]:
    texts = {"title": collection.title, "question": collection.wording}
    known = {"kind": kind_of(collection).name, "window_ms": collection.window.size_ms}
    return known | {name: text for name, text in texts.items() if text is not None}
