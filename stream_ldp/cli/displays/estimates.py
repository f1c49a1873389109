"""This module holds the display of the estimates of a collection of records."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.displays.estimate_text import panel, plain_line
from stream_ldp.cli.simulation.truth import Truth
from stream_ldp.records.answer import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import RenderableType

__all__ = ["EstimateDisplay", "display"]


class EstimateDisplay(Display[Estimate]):
    """A display of the last final of each estimate, and the provisional one of the window that is open after it."""

    def __init__(self, truth_of: Callable[[Estimate], NDArray[np.float64] | None], *, cells: int = 12) -> None:
        """Start without estimates.

        truth_of: returns the joint to compare an estimate with; None where none is known.
        cells: number of most probable cells to show of each estimate.
        """
        self._truth_of = truth_of
        self.rows = cells
        self._finals: dict[str, Estimate] = {}
        self._open: dict[str, Estimate] = {}

    def add(self, answer: Estimate) -> None:
        """See `Display`."""
        (self._finals if answer.final else self._open)[answer.estimate] = answer

    def newest(self) -> list[Estimate]:
        """Return the newest estimates by name, final before provisional."""
        found = []
        for name in sorted({*self._finals, *self._open}):
            final, provisional = self._finals.get(name), self._open.get(name)
            if final is not None:
                found.append(final)
            if provisional is not None and (final is None or provisional.window.start_ms > final.window.start_ms):
                found.append(provisional)
        return found

    def line(self, answer: Estimate) -> str:
        """See `Display`."""
        return plain_line(answer, truth=self._truth_of(answer))

    def panel(self, answer: Estimate) -> RenderableType:
        """See `Display`."""
        return panel(answer, truth=self._truth_of(answer), cells=self.rows)

    def json(self, answer: Estimate) -> str:
        """See `Display`."""
        message = answer.model_dump(mode="json")
        if (truth := self._truth_of(answer)) is not None:
            message |= {"truth": truth.tolist(), "distance": answer.distance(truth)}
        return json.dumps(message, ensure_ascii=False)


def display(truth: Path | None, *, rows: int) -> EstimateDisplay:
    """Make the display of estimates beside the truth in a file, which may come later."""
    return EstimateDisplay(partial(_true_joint, truth), cells=rows)


def _true_joint(file: Path | None, estimate: Estimate) -> NDArray[np.float64] | None:
    """Read the joint to compare an estimate with, anew as a simulation goes on; None while there is no file."""
    if file is None or not file.exists():
        return None
    return Truth.load(file).of(estimate)
