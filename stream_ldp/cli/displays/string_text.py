"""This module turns rankings of strings into text, by pure functions."""

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
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.string_truth import StringTruth, TrueStrings
    from stream_ldp.strings.answer import StringRanking

__all__ = ["string_truth_lines", "strings_line", "strings_panel"]


def strings_panel(ranking: StringRanking, *, truth: TrueStrings | None = None, rows: int = 12) -> RenderableType:
    """Show a ranking as a table of its most frequent strings, with what is needed to judge it.

    truth: what to compare it with.
    rows: the most rows of the table.
    """
    strings = ranking.strings or ()
    largest = max((each.projected for each in strings), default=0.0)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("rank", justify="right")
    table.add_column(plain(ranking.attribute))
    table.add_column()
    for column in ("frequency", "± s.e.", "raw", "by chance", *(() if truth is None else ("truth",))):
        table.add_column(column, justify="right")
    for each in strings[:rows]:
        row: list[RenderableType] = [
            str(each.rank),
            plain(each.string),
            Bar(size=largest or 1.0, begin=0, end=each.projected, width=BAR_WIDTH, color="cyan"),
            *(shown(number, each.standard_error) for number in (each.projected, each.standard_error, each.raw)),
            f"{each.expected_false:.2g}",
        ]
        table.add_row(*row, *(() if truth is None else (shown(truth.share(each.string), each.standard_error),)))
    parts: list[RenderableType] = [table]
    if len(strings) > rows:
        parts.append(Text(f"and {len(strings) - rows:,} more", style="dim"))
    if not strings:
        parts = [plain(_nothing(ranking), style="dim")]
    return framed(ranking, parts, _judgement(ranking, truth), what="strings", settled=ranking.final)


def strings_line(ranking: StringRanking, *, truth: TrueStrings | None = None) -> str:
    """Show a ranking on one line, for a pipe or a log, with its most frequent strings only."""
    strings = ranking.strings or ()
    words = [
        span(ranking.window),
        "strings",
        state(ranking),
        f"reports={ranking.reports}",
        f"plausible={plausible(ranking)}",
        f"told={'none' if ranking.strings is None else len(strings)}",
    ]
    if truth is not None:
        words.append(f"found={truth.found([each.string for each in strings])}/{len(strings)}")
    for each in strings[:LINE_CELLS]:
        error = each.standard_error
        words.append(f"{word(each.string)}={shown(each.projected, error)}±{shown(error, error)}")
    if len(strings) > LINE_CELLS:
        words.append(f"+{len(strings) - LINE_CELLS}")
    return " ".join(words)


def string_truth_lines(truth: StringTruth) -> Iterator[str]:
    """Show the truth of each window on a line."""
    for each in truth.windows:
        best = list(each.strings.users)[:LINE_CELLS]
        words = [f"{word(string)}={each.strings.share(string):.4f}" for string in best]
        if len(each.strings.users) > len(best):
            words.append(f"+{len(each.strings.users) - len(best)}")
        yield " ".join([span(each.window), "strings", "truth", f"reports={each.reports}", *words])


def _nothing(ranking: StringRanking) -> str:
    if ranking.strings is None:
        return "a question that the ranking takes has no answers"
    return "no string stands out of the noise"


def _judgement(ranking: StringRanking, truth: TrueStrings | None) -> Iterable[str]:
    asked = ", ".join(f"{each.reports:,} of {each.asked}" for each in ranking.questions)
    yield f"{quantity(ranking.reports, 'report')}: {asked}"
    strings = ranking.strings or ()
    if strings:
        yield (
            f"of {ranking.candidates:,} candidates, {strings[-1].expected_false:.2g} that nobody has are expected to "
            "look as frequent as the last"
        )
    if ranking.learnt is not None and ranking.learnt.shares.weight:
        yield f"the windows before weigh as much as {quantity(ranking.learnt.shares.weight, 'report')}"
    yield from warning_lines(ranking)
    privacy = ranking.privacy
    yield f"{ranking.method} at epsilon {shown_epsilon(privacy.for_ever)} for ever: {privacy.assumption}"
    if privacy.published is not None:
        yield published_line(privacy.published)
    if truth is not None and strings:
        yield f"{truth.found([each.string for each in strings])} of the true top {len(strings)} found"
