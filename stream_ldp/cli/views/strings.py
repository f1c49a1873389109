"""This module holds the view of the rankings of a collection of strings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.string_truth import StringTruth
from stream_ldp.cli.views.string_text import strings_line, strings_panel
from stream_ldp.cli.views.view import WindowView
from stream_ldp.strings.answer import StringRanking

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.string_truth import TrueStrings

__all__ = ["StringView", "view"]


class StringView(WindowView[StringRanking]):
    """A view of the rankings of the last closed window and of the open one."""

    def __init__(self, truth: Path | None, *, rows: int = 12) -> None:
        """Start without rankings.

        truth: file of the truth to compare them with, which may come later.
        rows: number of strings to show of each ranking.
        """
        super().__init__()
        self._truth = truth
        self.rows = rows

    def line(self, answer: StringRanking) -> str:
        """See `View`."""
        return strings_line(answer, truth=self._true(answer))

    def panel(self, answer: StringRanking) -> RenderableType:
        """See `View`."""
        return strings_panel(answer, truth=self._true(answer), rows=self.rows)

    def json(self, answer: StringRanking) -> str:
        """See `View`."""
        message = answer.model_dump(mode="json")
        if (truth := self._true(answer)) is not None:
            strings = [each.string for each in answer.strings or ()]
            message |= {
                "truth": {each: truth.share(each) for each in strings},
                "found": truth.found(strings),
            }
        return json.dumps(message, ensure_ascii=False)

    def _true(self, answer: StringRanking) -> TrueStrings | None:
        """Read what to compare a ranking with, anew as a simulation goes on; None while there is no file."""
        if self._truth is None or not self._truth.exists():
            return None
        return StringTruth.load(self._truth).of(answer)


def view(truth: Path | None, *, rows: int) -> StringView:
    """Make the view of rankings beside the truth in a file, which may come later."""
    return StringView(truth, rows=rows)
