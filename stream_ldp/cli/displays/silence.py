"""This module shows, on a line, that nobody reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.estimate_text import span

if TYPE_CHECKING:
    from stream_ldp.pipeline.answer import Answer

__all__ = ["silence_line"]


def silence_line(answer: Answer) -> str:
    """Show a message that nobody reported in its window, or in any of those that its bounds span."""
    return f"{span(answer.window)} {answer.series} no-reports"
