"""This module says what a display of a collection's answers does."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.console import Group

from stream_ldp.cli.displays.plain import plain
from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType

__all__ = ["ComparedDisplay", "Display", "WindowDisplay"]

TruthT = TypeVar("TruthT")


class Display(ABC, Generic[AnswerT]):
    """A display keeps the newest answers, and shows one as JSON, on a line or in a panel.

    rows: the most cells, items or values of an answer that a panel shows.
    """

    rows: int = 12

    @abstractmethod
    def add(self, answer: AnswerT) -> None:
        """Take the next answer of the topic."""

    @abstractmethod
    def newest(self) -> list[AnswerT]:
        """Return the answers that hold at present, final before provisional."""

    @abstractmethod
    def line(self, answer: AnswerT) -> str:
        """Show an answer on one line, for a pipe or a log."""

    @abstractmethod
    def panel(self, answer: AnswerT) -> RenderableType:
        """Show an answer as a panel, for a terminal."""

    @abstractmethod
    def json(self, answer: AnswerT) -> str:
        """Show an answer as JSON on one line, with the truth where it is known."""

    def screen(self, console: Console) -> RenderableType:
        """Show the newest answers one below the other, as many as fit a terminal, and name the others.

        The first gets fewer rows if it would not fit.
        """
        newest = self.newest()
        if not newest:
            return Group()
        first, *others = newest
        room = console.height - (1 if others else 0)
        most = self.rows
        try:
            while self.rows > 1 and _height(console, self.panel(first)) > room:
                self.rows -= 1
            shown = [self.panel(first)]
        finally:
            self.rows = most
        room -= _height(console, shown[0])
        while others and (height := _height(console, panel := self.panel(others[0]))) <= room:
            shown.append(panel)
            room -= height
            others.pop(0)
        if others:
            names = ", ".join(f"{each.series} ({'final' if each.final else 'provisional'})" for each in others)
            shown.append(
                plain(f"Also: {names}; one alone: --estimate NAME", style="dim", no_wrap=True, overflow="ellipsis")
            )
        return Group(*shown)


class WindowDisplay(Display[AnswerT]):
    """A display of the answer to the last closed window, and of that to the one that is open after it."""

    def __init__(self) -> None:
        """Start without answers."""
        self._final: AnswerT | None = None
        self._open: AnswerT | None = None

    def add(self, answer: AnswerT) -> None:
        """See `Display`."""
        if answer.final:
            self._final = answer
        else:
            self._open = answer

    def newest(self) -> list[AnswerT]:
        """Return the newest answers, final before provisional."""
        final, provisional = self._final, self._open
        found = [] if final is None else [final]
        if provisional is not None and (final is None or provisional.window.start_ms > final.window.start_ms):
            found.append(provisional)
        return found


class ComparedDisplay(WindowDisplay[AnswerT], Generic[AnswerT, TruthT]):
    """A display of answers beside the truth in a file, which may come later and is read anew while it changes."""

    def __init__(self, truth: Path | None, *, rows: int = 12) -> None:
        """Start without answers.

        truth: file of the truth to compare them with; None to compare them with nothing.
        rows: number of values to show.
        """
        super().__init__()
        self._truth = truth
        self.rows = rows

    @abstractmethod
    def read(self, truth: Path, answer: AnswerT) -> TruthT | None:
        """Read what to compare an answer with from the file; None where it says nothing of this answer."""

    def compared(self, answer: AnswerT, truth: TruthT) -> dict[str, object]:  # noqa: ARG002
        """Return what the JSON of an answer says of the truth besides."""
        return {"truth": truth}

    def true(self, answer: AnswerT) -> TruthT | None:
        """Return what to compare an answer with; None while there is no file."""
        return None if self._truth is None or not self._truth.exists() else self.read(self._truth, answer)

    def json(self, answer: AnswerT) -> str:
        """See `Display`."""
        message = json.loads(answer.to_bytes())
        if (truth := self.true(answer)) is not None:
            message |= self.compared(answer, truth)
        return json.dumps(message, ensure_ascii=False)


def _height(console: Console, panel: RenderableType) -> int:
    return len(console.render_lines(panel, pad=False))
