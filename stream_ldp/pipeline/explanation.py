"""An answer in three sentences: what is known, how sure that is, and what the reports give away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.digits import shown
from stream_ldp.pipeline.answer import Answer, RegionState
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.cells import Cell

#: Groups of numbers that one sentence can hold.
_MOST_GROUPS = 3


def sentences(answer: Answer) -> tuple[str, str, str]:
    """Explain an answer to a reader with its question and no statistics."""
    return _what(answer), _how_sure(answer), _privacy(answer)


def _what(answer: Answer) -> str:
    reports = quantity(answer.reports, "report")
    cells = [cell for cell in answer.cells() if cell.names]
    if not cells:
        return f"The {reports} of this window give no numbers."
    headings = answer.look.names
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    clauses = [_about(group, of, headings) for group, of in list(groups.items())[:_MOST_GROUPS]]
    more = f"; `query` has {quantity(len(groups) - len(clauses), 'more group')}" if len(groups) > len(clauses) else ""
    cut_off = [part.region for part in answer.sources or () if part.state is RegionState.CUT_OFF]
    without = f" (not all of {' and '.join(cut_off)}, cut off at the time)" if cut_off else ""
    return f"By {reports}{without}, {'; '.join(clauses)}{more}."


def _about(group: str, cells: Sequence[Cell], headings: Sequence[str]) -> str:
    """Name the largest number of a group: those of other groups may be in another unit. Of quantiles, name all."""
    whose = f"{group}: " if group else ""
    # A group says what its cells are about; without one, the headings of their columns do.
    headings = ("",) * len(headings) if group else headings
    if len(cells) == 1 or cells[0].labels.get("quantity") == "quantile":
        return whose + ", and ".join(f"{_name(cell, headings)} is {_spread(cell)}" for cell in cells)
    most = max(cells, key=lambda cell: cell.estimate)
    what = "share" if most.range == (0.0, 1.0) else "number"
    return f"{whose}the largest {what} is that of {_name(most, headings)}: {_spread(most)}"


def _name(cell: Cell, headings: Sequence[str]) -> str:
    return ", ".join(f"{heading} {name}".strip() for heading, name in zip(headings, cell.names, strict=False))


def _spread(cell: Cell) -> str:
    ends = cell.interval()
    between = "" if ends is None else f", between {_number(ends[0], cell)} and {_number(ends[1], cell)}"
    return f"about {_number(cell.estimate, cell)}{between}"


def _how_sure(answer: Answer) -> str:
    sure = "Such an interval holds the true number in 95 of 100 windows"
    test = answer.plausibility
    if test is None:
        return f"{sure}; no test of these reports can detect crafted ones."
    if test.flagged:
        return f"{sure} if all clients are honest. These reports do not look honest: do not rely on it."
    return f"{sure}, and the reports look honest."


def _privacy(answer: Answer) -> str:
    privacy = answer.judgement().privacy
    sentence = privacy[0] if privacy else "the collection's file states what a report costs"
    return f"Privacy cost for a user: {sentence.removesuffix('.')}."


def _number(value: float, cell: Cell) -> str:
    """Write a share in percent, and any other number with the digits that its error allows."""
    if cell.range == (0.0, 1.0):
        error = None if cell.standard_error is None else 100 * cell.standard_error
        return f"{shown(100 * value, error)} %"
    return shown(value, cell.standard_error)
