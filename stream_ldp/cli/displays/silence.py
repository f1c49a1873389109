"""This module shows messages on a line, be it that nobody reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.estimate_text import span
from stream_ldp.pipeline.answer import Status

if TYPE_CHECKING:
    from stream_ldp.cli.displays.display import Display
    from stream_ldp.pipeline.answer import Answer, AnswerT

__all__ = ["message_line", "silence_line"]


def message_line(answer: AnswerT, display: Display[AnswerT]) -> str:
    """Show an answer, or that nobody reported, on one line."""
    return display.line(answer) if answer.status is Status.ANSWERED else silence_line(answer)


def silence_line(answer: Answer) -> str:
    """Show a message that nobody reported in its window, or in any of those that its bounds span."""
    return f"{span(answer.window)} {answer.series} no-reports"
