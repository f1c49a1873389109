"""This module turns counts of places into text, by pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from stream_ldp.cli.displays.digits import decimals, shown
from stream_ldp.cli.displays.estimate_text import (
    BAR_WIDTH,
    LINE_CELLS,
    framed,
    plausible,
    span,
    state,
    warning_lines,
    word,
)
from stream_ldp.cli.displays.marginal_text import with_the_past
from stream_ldp.cli.displays.plain import plain
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.place_truth import PlaceTruth
    from stream_ldp.places.answer import PlaceCounts

__all__ = ["place_truth_lines", "places_line", "places_panel"]


def places_panel(counts: PlaceCounts, *, truth: Sequence[float] | None = None, rows: int = 12) -> RenderableType:
    """Show counts as a table of the places with most users, with what is needed to judge them.

    truth: the true counts to compare them with.
    rows: the most rows of the table.
    """
    order = _order(counts.projected)
    largest = max(counts.projected, default=0.0) or 1.0
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("place")
    table.add_column()
    for column in ("users", "± s.e.", "raw", *(() if truth is None else ("truth",))):
        table.add_column(column, justify="right")
    for place in order[:rows]:
        row: list[RenderableType] = [
            plain(counts.places[place]),
            Bar(size=largest, begin=0, end=counts.projected[place], width=BAR_WIDTH, color="cyan"),
            *(
                f"{number:,.{decimals(counts.standard_error[place])}f}"
                for number in (counts.projected[place], counts.standard_error[place], counts.raw[place])
            ),
        ]
        table.add_row(*row, *(() if truth is None else (f"{truth[place]:,.0f}",)))
    parts: list[RenderableType] = [table]
    if len(order) > rows:
        rest = sum(counts.projected[place] for place in order[rows:])
        parts.append(Text(f"and {len(order) - rows:,} more with {rest:,.1f} together", style="dim"))
    return framed(counts, parts, _judgement(counts), what="places", settled=counts.final)


def places_line(counts: PlaceCounts, *, truth: Sequence[float] | None = None) -> str:
    """Show counts on one line, for a pipe or a log, with the places with most users only."""
    words = [
        span(counts.window),
        "places",
        state(counts),
        f"reports={counts.reports}",
        f"plausible={plausible(counts)}",
    ]
    order = _order(counts.projected)
    for place in order[:LINE_CELLS]:
        off = "" if truth is None else f"({truth[place]:.0f})"
        error = counts.standard_error[place]
        number = f"{shown(counts.projected[place], error)}±{shown(error, error)}"
        words.append(f"{word(counts.places[place])}={number}{off}")
    if len(order) > LINE_CELLS:
        words.append(f"+{len(order) - LINE_CELLS}")
    return " ".join(words)


def place_truth_lines(truth: PlaceTruth) -> Iterator[str]:
    """Show the truth of each window on a line."""
    for each in truth.windows:
        order = _order(each.counts)
        words = [f"{word(truth.places[place])}={each.counts[place]}" for place in order[:LINE_CELLS]]
        if len(order) > LINE_CELLS:
            words.append(f"+{len(order) - LINE_CELLS}")
        yield " ".join([span(each.window), "places", "truth", f"reports={sum(each.counts)}", *words])


def _order(counts: Sequence[float]) -> list[int]:
    return sorted(range(len(counts)), key=lambda place: -counts[place])


def _judgement(counts: PlaceCounts) -> Iterable[str]:
    told = ", ".join(f"{each.region} {sum(each.reports):,}" for each in counts.regions[:LINE_CELLS])
    more = f" and {len(counts.regions) - LINE_CELLS} others" if len(counts.regions) > LINE_CELLS else ""
    yield f"{quantity(counts.reports, 'report')}, by region: {told or 'none'}{more}"
    if counts.weights == "variance":
        yield "weighted by variance: right only if the choice of epsilon has nothing to do with the place"
    if counts.learnt is not None:
        yield with_the_past("shares", counts.places, counts.learnt)
    yield from warning_lines(counts)
    epsilons = " or ".join(map(shown_epsilon, counts.privacy.epsilons))
    yield f"epsilon {epsilons} for ever: {counts.privacy.assumption}"
