"""This module holds the display of the rankings of an item collection."""

from __future__ import annotations

import json
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.displays.ranking_text import ranking_line, ranking_panel
from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.sets.answer import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import RenderableType


__all__ = ["RankingDisplay", "display"]


class RankingDisplay(Display[Ranking]):
    """A display of the result of the last epoch, and of how far the epoch after it has come."""

    def __init__(self, truth_of: Callable[[Ranking], ItemTruth | None], *, rows: int = 12) -> None:
        """Start without rankings.

        truth_of: returns the truth to compare a ranking with; None where none is known.
        rows: number of best items to show of each ranking.
        """
        self._truth_of = truth_of
        self.rows = rows
        # The last result, and the one that its ranks are compared with.
        self._results: deque[Ranking] = deque(maxlen=2)
        self._open: dict[str, Ranking] = {}

    def add(self, answer: Ranking) -> None:
        """See `Display`."""
        if answer.complete:
            self._results.append(answer)
        else:
            self._open[answer.series] = answer

    def newest(self) -> list[Ranking]:
        """Return the last result and, of the epochs after it, the ranking that is nearest to its epoch's end."""
        results = list(self._results)[-1:]
        after = [each for each in self._open.values() if not results or each.epoch > results[0].epoch]
        return results + sorted(after, key=lambda each: (each.window.start_ms, each.phase))[-1:]

    def before(self, ranking: Ranking) -> Ranking | None:
        """Return the last result of an earlier epoch."""
        return next((each for each in reversed(self._results) if each.epoch < ranking.epoch), None)

    def line(self, answer: Ranking) -> str:
        """See `Display`."""
        return ranking_line(answer, truth=self._truth_of(answer))

    def panel(self, answer: Ranking) -> RenderableType:
        """See `Display`."""
        return ranking_panel(answer, before=self.before(answer), truth=self._truth_of(answer), rows=self.rows)

    def json(self, answer: Ranking) -> str:
        """See `Display`."""
        message = answer.model_dump(mode="json")
        if (truth := self._truth_of(answer)) is not None:
            message |= {
                "truth": {each.item: truth.part_of(each.item) for each in answer.items},
                "found": truth.found(answer),
            }
        return json.dumps(message, ensure_ascii=False)


def display(truth: Path | None, *, rows: int) -> RankingDisplay:
    """Make the display of rankings beside the truth in a file, which may come later."""
    return RankingDisplay(partial(_true_items, truth), rows=rows)


def _true_items(file: Path | None, ranking: Ranking) -> ItemTruth | None:
    """Read the truth of a ranking; None while there is no file, or if it is of another collection."""
    if file is None or not file.exists():
        return None
    truth = ItemTruth.load(file)
    return truth if truth.fingerprint == ranking.fingerprint else None
