"""This module holds the view of the counts of a collection of places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.place_truth import PlaceTruth
from stream_ldp.cli.views.place_text import places_line, places_panel
from stream_ldp.cli.views.view import ComparedView
from stream_ldp.places.answer import PlaceCounts

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["PlacesView", "view"]


class PlacesView(ComparedView[PlaceCounts, tuple[float, ...]]):
    """A view of the counts of the last closed window and of the open one."""

    def line(self, answer: PlaceCounts) -> str:
        """See `View`."""
        return places_line(answer, truth=self.true(answer))

    def panel(self, answer: PlaceCounts) -> RenderableType:
        """See `View`."""
        return places_panel(answer, truth=self.true(answer), rows=self.rows)

    def read(self, truth: Path, answer: PlaceCounts) -> tuple[float, ...] | None:
        """See `ComparedView`."""
        return PlaceTruth.load(truth).of(answer)


def view(truth: Path | None, *, rows: int) -> PlacesView:
    """Make the view of counts beside the truth in a file, which may come later."""
    return PlacesView(truth, rows=rows)
