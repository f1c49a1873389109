"""This module turns rankings into text, by pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from stream_ldp.cli.displays.digits import shown
from stream_ldp.cli.displays.estimate_text import (
    BAR_WIDTH,
    LINE_CELLS,
    framed,
    plausible,
    published_line,
    span,
    state,
    warning_lines,
    word,
)
from stream_ldp.cli.displays.plain import plain
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.item_truth import ItemTruth
    from stream_ldp.sets.answer import HeavyHitter, Ranking

__all__ = ["ranking_line", "ranking_panel"]


def ranking_panel(
    ranking: Ranking, *, before: Ranking | None = None, truth: ItemTruth | None = None, rows: int = 12
) -> RenderableType:
    """Show a ranking as a table of its best items, with what is needed to judge it.

    before: the result that ranks are compared with.
    truth: the true frequencies.
    rows: the most rows of the table.
    """
    best = ranking.items[:rows]
    ranks = {} if before is None else {each.item: each.rank for each in before.items}
    largest = max(
        [each.frequency for each in best] + [truth.part_of(each.item) for each in best if truth], default=0.0
    )

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("rank", justify="right")
    if before is not None:
        table.add_column("change")
    table.add_column("item")
    table.add_column()
    table.add_column("frequency", justify="right")
    table.add_column("± s.e.", justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for each in best:
        row: list[RenderableType] = [str(each.rank)]
        if before is not None:
            row.append(_change(each, ranks))
        row += [
            plain(each.item),
            # A bar needs a size, also where nobody seems to hold anything.
            Bar(size=largest or 1.0, begin=0, end=each.frequency, width=BAR_WIDTH, color="cyan"),
            shown(each.frequency, each.standard_error),
            shown(each.standard_error, each.standard_error),
        ]
        if truth is not None:
            row.append(shown(truth.part_of(each.item), each.standard_error))
        table.add_row(*row)
    parts: list[RenderableType] = [table]
    if len(ranking.items) > len(best):
        parts.append(Text(f"and {len(ranking.items) - len(best):,} more of the top", style="dim"))
    what = f"epoch {ranking.epoch} · {_progress(ranking)}"
    return framed(ranking, parts, _judgement(ranking, truth), what=what, settled=ranking.complete)


def ranking_line(ranking: Ranking, *, truth: ItemTruth | None = None) -> str:
    """Show a ranking on one line, for a pipe or a log, with its best items only."""
    words = [
        span(ranking.window),
        f"epoch={ranking.epoch}",
        f"phase={ranking.phase}/{ranking.phases}",
        state(ranking),
        f"reports={ranking.reports}",
        f"plausible={plausible(ranking)}",
    ]
    if truth is not None:
        words.append(f"found={truth.found(ranking)}/{len(ranking.items)}")
    best = ranking.items[:LINE_CELLS]
    for each in best:
        error = each.standard_error
        words.append(f"{word(each.item)}={shown(each.frequency, error)}±{shown(error, error)}")
    if len(ranking.items) > len(best):
        words.append(f"+{len(ranking.items) - len(best)}")
    return " ".join(words)


def _judgement(ranking: Ranking, truth: ItemTruth | None) -> Iterable[str]:
    if not ranking.complete:
        yield "not the epoch's result yet: candidates and their order may change"
    *earlier, last = ranking.reports_per_phase
    counts = " + ".join(f"{reports:,}" for reports in (*earlier, last))
    yield f"{counts} reports, phase by phase" if earlier else quantity(last, "report")
    if ranking.learnt is not None and ranking.learnt.weight:
        yield f"the epochs before weigh as much as {quantity(ranking.learnt.weight, 'report')} of the last phase"
    if ranking.plausibility is None:
        yield "whether these reports are honest cannot be tested"
    yield from warning_lines(ranking)
    privacy = ranking.privacy
    for_ever = "" if privacy.for_ever is None else f", {shown_epsilon(privacy.for_ever)} for ever"
    yield f"{ranking.method} at epsilon {shown_epsilon(privacy.per_epoch)} an epoch{for_ever}: {privacy.assumption}"
    if privacy.published is not None:
        yield published_line(privacy.published)
    if truth is not None:
        yield (
            f"{truth.found(ranking)} of the true top {len(ranking.items)} found; their frequencies are "
            f"{truth.distance(ranking):.4f} off on average"
        )


def _change(item: HeavyHitter, ranks: dict[str, int]) -> Text:
    """Show how the rank of an item has changed."""
    if item.item not in ranks:
        return Text("new", style="bold")
    risen = ranks[item.item] - item.rank
    if risen > 0:
        return Text(f"▲{risen}", style="green")
    return Text(f"▼{-risen}", style="red") if risen else Text("=", style="dim")


def _progress(ranking: Ranking) -> str:
    return "result" if ranking.complete else f"phase {ranking.phase} of {ranking.phases}"
