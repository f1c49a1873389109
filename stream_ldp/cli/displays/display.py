"""The display of a collection's answers, beside the truth where it is known."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic

from rich.console import Console, Group, RenderableType

from stream_ldp.cli.displays.answer_text import AnswerText
from stream_ldp.cli.displays.table_text import plain
from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_ldp.collection.labels import Labels
    from stream_ldp.pipeline.cells import CellKey


class Display(Generic[AnswerT]):
    """A display keeps the newest answers of any kind, and shows one as JSON, on a line or in a panel.

    For each target these are the last settled answer, and the one that is nearest to settle a later turn.
    """

    def __init__(
        self,
        truth_of: Callable[[AnswerT], Mapping[CellKey, float] | None] = lambda _: None,
        *,
        rows: int = 12,
        labels: Labels = MappingProxyType({}),
        title: str | None = None,
    ) -> None:
        """Start without answers.

        truth_of: returns the true numbers to compare an answer with, as `Answer.score` takes them; None where none
            are known.
        rows: the most cells of a group that a panel shows.
        labels, title: what people read in place of values, and of the collection's name; see `AnswerText.of`.
        """
        self._labels, self._title = labels, title
        self._truth_of = truth_of
        self._rows = rows
        # The last settled answers, and those before them, whose ranks they are compared with.
        self._settled: dict[str, deque[AnswerT]] = defaultdict(lambda: deque(maxlen=2))
        self._open: dict[str, dict[str, AnswerT]] = defaultdict(dict)

    def add(self, answer: AnswerT) -> None:
        """Take the next answer of the topic."""
        if answer.settled:
            self._settled[answer.target].append(answer)
        else:
            self._open[answer.target][answer.series] = answer

    def newest(self) -> list[AnswerT]:
        """Return the answers that hold at present, by target, settled before open."""
        found = []
        for target in sorted({*self._settled, *self._open}):
            settled = list(self._settled[target])[-1:]
            later = [each for each in self._open[target].values() if not settled or each.turn > settled[0].turn]
            found += settled + sorted(later, key=lambda each: (each.window.start_ms, each.series))[-1:]
        return found

    def line(self, answer: AnswerT) -> str:
        """Show an answer, or that nobody reported, on one line, for a pipe or a log."""
        return self._text(answer).line()

    def panel(self, answer: AnswerT) -> RenderableType:
        """Show an answer as a panel, for a terminal."""
        return self._text(answer).panel(rows=self._rows)

    def json(self, answer: AnswerT) -> str:
        """Show an answer as JSON on one line, with the truth where it is known."""
        return json.dumps(json.loads(answer.to_bytes()) | self._text(answer).document(), ensure_ascii=False)

    def screen(self, console: Console) -> RenderableType:
        """Show the newest answers one below the other, as many as fit a terminal, and name the others.

        The first gets fewer rows if it would not fit.
        """
        newest = self.newest()
        if not newest:
            return Group()
        first, *others = newest
        room = console.height - (1 if others else 0)
        text, rows = self._text(first), self._rows
        while rows > 1 and _height(console, text.panel(rows=rows)) > room:
            rows -= 1
        panels = [text.panel(rows=rows)]
        room -= _height(console, panels[0])
        while others and (height := _height(console, panel := self.panel(others[0]))) <= room:
            panels.append(panel)
            room -= height
            others.pop(0)
        if others:
            names = ", ".join(f"{other.series} ({'final' if other.final else 'provisional'})" for other in others)
            panels.append(
                plain(f"Also: {names}; one alone: --estimate NAME", style="dim", no_wrap=True, overflow="ellipsis")
            )
        return Group(*panels)

    def _text(self, answer: AnswerT) -> AnswerText:
        settled = self._settled[answer.target]
        before = next((each for each in reversed(settled) if each.turn < answer.turn), None)
        return AnswerText.of(
            answer, truth=self._truth_of(answer), before=before, labels=self._labels, title=self._title
        )


def _height(console: Console, panel: RenderableType) -> int:
    return len(console.render_lines(panel, pad=False))
