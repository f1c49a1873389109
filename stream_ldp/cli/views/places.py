"""This module holds the view of the counts of a collection of places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.place_truth import PlaceTruth
from stream_ldp.cli.views.place_text import places_line, places_panel
from stream_ldp.cli.views.view import WindowView
from stream_ldp.places.answer import PlaceCounts

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["PlacesView", "view"]


class PlacesView(WindowView[PlaceCounts]):
    """A view of the counts of the last closed window and of the open one."""

    def __init__(self, truth: Path | None, *, rows: int = 12) -> None:
        """Start without counts.

        truth: file of the truth to compare them with, which may come later.
        rows: number of places to show.
        """
        super().__init__()
        self._truth = truth
        self.rows = rows

    def line(self, answer: PlaceCounts) -> str:
        """See `View`."""
        return places_line(answer, truth=self._true(answer))

    def panel(self, answer: PlaceCounts) -> RenderableType:
        """See `View`."""
        return places_panel(answer, truth=self._true(answer), rows=self.rows)

    def json(self, answer: PlaceCounts) -> str:
        """See `View`."""
        message = answer.model_dump(mode="json")
        if (truth := self._true(answer)) is not None:
            message |= {"truth": truth}
        return json.dumps(message, ensure_ascii=False)

    def _true(self, answer: PlaceCounts) -> tuple[float, ...] | None:
        """Read what to compare counts with, anew as a simulation goes on; None while there is no file."""
        if self._truth is None or not self._truth.exists():
            return None
        return PlaceTruth.load(self._truth).of(answer)


def view(truth: Path | None, *, rows: int) -> PlacesView:
    """Make the view of counts beside the truth in a file, which may come later."""
    return PlacesView(truth, rows=rows)
