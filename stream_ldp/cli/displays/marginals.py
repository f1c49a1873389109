"""This module holds the display of the marginals of a sampled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.cli.displays.display import ComparedDisplay
from stream_ldp.cli.displays.marginal_text import marginals_line, marginals_panel
from stream_ldp.cli.simulation.marginal_truth import MarginalTruth
from stream_ldp.marginals.answer import Marginals

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["MarginalsDisplay", "display"]


class MarginalsDisplay(ComparedDisplay[Marginals, dict[str, tuple[float, ...]]]):
    """A display of the marginals of the last closed window, and of the one that is open after it."""

    def line(self, answer: Marginals) -> str:
        """See `Display`."""
        return marginals_line(answer, truth=self.true(answer))

    def panel(self, answer: Marginals) -> RenderableType:
        """See `Display`."""
        return marginals_panel(answer, truth=self.true(answer), rows=self.rows)

    def read(self, truth: Path, answer: Marginals) -> dict[str, tuple[float, ...]] | None:
        """See `ComparedDisplay`."""
        return MarginalTruth.load(truth).of(answer)


def display(truth: Path | None, *, rows: int) -> MarginalsDisplay:
    """Make the display of marginals beside the truth in a file, which may come later."""
    return MarginalsDisplay(truth, rows=rows)
