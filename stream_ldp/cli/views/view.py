"""This module says what a view of a collection's answers does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from rich.console import Group

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["View"]


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
