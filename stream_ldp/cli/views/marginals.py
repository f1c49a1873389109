"""This module holds the view of the marginals of a sampled collection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.marginal_truth import MarginalTruth
from stream_ldp.cli.views.marginal_text import marginals_line, marginals_panel
from stream_ldp.cli.views.view import WindowView
from stream_ldp.sampled.answer import Marginals

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["MarginalsView", "view"]


class MarginalsView(WindowView[Marginals]):
    """A view of the marginals of the last closed window, and of the one that is open after it."""

    def __init__(self, truth: Path | None, *, rows: int = 12) -> None:
        """Start without marginals.

        truth: file of the truth to compare them with, which may come later.
        rows: number of values to show of each attribute.
        """
        super().__init__()
        self._truth = truth
        self.rows = rows

    def line(self, answer: Marginals) -> str:
        """See `View`."""
        return marginals_line(answer, truth=self._true(answer))

    def panel(self, answer: Marginals) -> RenderableType:
        """See `View`."""
        return marginals_panel(answer, truth=self._true(answer), rows=self.rows)

    def json(self, answer: Marginals) -> str:
        """See `View`."""
        message = answer.model_dump(mode="json")
        if (truth := self._true(answer)) is not None:
            message |= {"truth": truth}
        return json.dumps(message, ensure_ascii=False)

    def _true(self, answer: Marginals) -> dict[str, tuple[float, ...]] | None:
        """Read what to compare marginals with, anew as a simulation goes on; None while there is no file."""
        if self._truth is None or not self._truth.exists():
            return None
        return MarginalTruth.load(self._truth).of(answer)


def view(truth: Path | None, *, rows: int) -> MarginalsView:
    """Make the view of marginals beside the truth in a file, which may come later."""
    return MarginalsView(truth, rows=rows)
