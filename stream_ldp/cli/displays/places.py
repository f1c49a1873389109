"""This module holds the display of the counts of a collection of places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.display import ComparedDisplay
from stream_ldp.cli.displays.place_text import places_line, places_panel
from stream_ldp.cli.simulation.place_truth import PlaceTruth
from stream_ldp.places.answer import PlaceCounts

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["PlacesDisplay", "display"]


class PlacesDisplay(ComparedDisplay[PlaceCounts, tuple[float, ...]]):
    """A display of the counts of the last closed window and of the open one."""

    def line(self, answer: PlaceCounts) -> str:
        """See `Display`."""
        return places_line(answer, truth=self.true(answer))

    def panel(self, answer: PlaceCounts) -> RenderableType:
        """See `Display`."""
        return places_panel(answer, truth=self.true(answer), rows=self.rows)

    def read(self, truth: Path, answer: PlaceCounts) -> tuple[float, ...] | None:
        """See `ComparedDisplay`."""
        return PlaceTruth.load(truth).of(answer)


def display(truth: Path | None, *, rows: int) -> PlacesDisplay:
    """Make the display of counts beside the truth in a file, which may come later."""
    return PlacesDisplay(truth, rows=rows)
