"""What is shown of a collection's answers as they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from rich.console import Group

from stream_ldp.pipeline.answer import AnswerT

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["View"]


class View(ABC, Generic[AnswerT]):
    """Keeps the newest answers, and shows one as JSON, on a line or in a panel."""

    @abstractmethod
    def add(self, answer: AnswerT) -> None:
        """Take the next answer of the topic."""

    @abstractmethod
    def newest(self) -> list[AnswerT]:
        """Those that hold at present, final before provisional."""

    @abstractmethod
    def line(self, answer: AnswerT) -> str:
        """For a pipe or a log."""

    @abstractmethod
    def panel(self, answer: AnswerT) -> RenderableType:
        """For a terminal."""

    @abstractmethod
    def json(self, answer: AnswerT) -> str:
        """The message, with the truth beside it where there is one; on one line."""

    def screen(self) -> RenderableType:
        """The newest, one below the other."""
        return Group(*map(self.panel, self.newest()))
