"""This module holds the view of the marginals of a sampled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.simulation.marginal_truth import MarginalTruth
from stream_ldp.cli.views.marginal_text import marginals_line, marginals_panel
from stream_ldp.cli.views.view import ComparedView
from stream_ldp.sampled.answer import Marginals

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["MarginalsView", "view"]


class MarginalsView(ComparedView[Marginals, dict[str, tuple[float, ...]]]):
    """A view of the marginals of the last closed window, and of the one that is open after it."""

    def line(self, answer: Marginals) -> str:
        """See `View`."""
        return marginals_line(answer, truth=self.true(answer))

    def panel(self, answer: Marginals) -> RenderableType:
        """See `View`."""
        return marginals_panel(answer, truth=self.true(answer), rows=self.rows)

    def read(self, truth: Path, answer: Marginals) -> dict[str, tuple[float, ...]] | None:
        """See `ComparedView`."""
        return MarginalTruth.load(truth).of(answer)


def view(truth: Path | None, *, rows: int) -> MarginalsView:
    """Make the view of marginals beside the truth in a file, which may come later."""
    return MarginalsView(truth, rows=rows)
