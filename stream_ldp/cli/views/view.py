"""This module says what a view of a collection's answers does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from rich.console import Group

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["View", "WindowView"]


class View(ABC, Generic[AnswerT]):
    """A view keeps the newest answers, and shows one as JSON, on a line or in a panel."""

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

    def screen(self) -> RenderableType:
        """Show the newest answers, one below the other."""
        return Group(*map(self.panel, self.newest()))


class WindowView(View[AnswerT]):
    """A view of the answer to the last closed window, and of that to the one that is open after it."""

    def __init__(self) -> None:
        """Start without answers."""
        self._final: AnswerT | None = None
        self._open: AnswerT | None = None

    def add(self, answer: AnswerT) -> None:
        """See `View`."""
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
