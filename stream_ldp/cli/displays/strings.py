"""This module holds the display of the rankings of a collection of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.display import ComparedDisplay
from stream_ldp.cli.displays.string_text import strings_line, strings_panel
from stream_ldp.cli.simulation.string_truth import StringTruth
from stream_ldp.strings.answer import StringRanking

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.string_truth import TrueStrings

__all__ = ["StringDisplay", "display"]


class StringDisplay(ComparedDisplay[StringRanking, "TrueStrings"]):
    """A display of the rankings of the last closed window and of the open one."""

    def line(self, answer: StringRanking) -> str:
        """See `Display`."""
        return strings_line(answer, truth=self.true(answer))

    def panel(self, answer: StringRanking) -> RenderableType:
        """See `Display`."""
        return strings_panel(answer, truth=self.true(answer), rows=self.rows)

    def read(self, truth: Path, answer: StringRanking) -> TrueStrings | None:
        """See `ComparedDisplay`."""
        return StringTruth.load(truth).of(answer)

    def compared(self, answer: StringRanking, truth: TrueStrings) -> dict[str, object]:
        """See `ComparedDisplay`."""
        strings = [each.string for each in answer.strings or ()]
        return {"truth": {each: truth.share(each) for each in strings}, "found": truth.found(strings)}


def display(truth: Path | None, *, rows: int) -> StringDisplay:
    """Make the display of rankings beside the truth in a file, which may come later."""
    return StringDisplay(truth, rows=rows)
