"""This module turns marginals into text, by pure functions."""

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
from stream_ldp.marginals.answer import Frequencies, Numbers, Outputs
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from stream_ldp.cli.simulation.marginal_truth import MarginalTruth
    from stream_ldp.filtering.learnt import Learnt
    from stream_ldp.marginals.answer import Marginal, Marginals

    #: What is true, by attribute: the frequencies of its values, or its mean alone.
    Truths = Mapping[str, tuple[float, ...]]

__all__ = ["marginal_truth_lines", "marginals_line", "marginals_panel"]


def marginals_panel(marginals: Marginals, *, truth: Truths | None = None, rows: int = 12) -> RenderableType:
    """Show marginals as a table of each attribute's most frequent values, or mean, with what is needed to judge them.

    truth: what to compare them with.
    rows: the most values of an attribute.
    """
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("attribute")
    table.add_column("value")
    table.add_column()
    table.add_column("estimate", justify="right")
    table.add_column("± s.e.", justify="right")
    table.add_column("raw", justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for each in marginals.attributes:
        true = None if truth is None else truth[each.attribute]
        for cells in _rows(each, true, rows):
            table.add_row(*cells)
    return framed(marginals, [table], _judgement(marginals), what="marginals", settled=marginals.final)


def marginals_line(marginals: Marginals, *, truth: Truths | None = None) -> str:
    """Show marginals on one line, for a pipe or a log, with the most frequent values of each attribute only."""
    words = [
        span(marginals.window),
        "marginals",
        state(marginals),
        f"reports={marginals.reports}",
        f"plausible={plausible(marginals)}",
    ]
    for each in marginals.attributes:
        words.append(f"{word(each.attribute)}:reports={each.reports}")
        true = None if truth is None else truth[each.attribute]
        if isinstance(each.estimate, Frequencies):
            words += _frequency_words(each.attribute, each.estimate, true)
        elif isinstance(each.estimate, Outputs):
            words += [
                f"{word(each.attribute)}.output-{number}={shown(share, error)}±{shown(error, error)}"
                for number, (share, error) in enumerate(
                    zip(each.estimate.share, each.estimate.standard_error, strict=True)
                )
            ][:LINE_CELLS]
        elif each.estimate is not None:
            mean, error = each.estimate.mean, each.estimate.mean.standard_error
            off = "" if true is None else f"({shown(true[0], error)})"
            words.append(f"{word(each.attribute)}={shown(mean.projected, error)}±{shown(error, error)}{off}")
    return " ".join(words)


def marginal_truth_lines(truth: MarginalTruth) -> Iterator[str]:
    """Show the truth of each window on a line."""
    for each in truth.windows:
        marginals = [
            f"{word(name)}={','.join(f'{number:.4g}' for number in numbers[:LINE_CELLS])}"
            + (f",+{len(numbers) - LINE_CELLS}" if len(numbers) > LINE_CELLS else "")
            for name, numbers in each.attributes.items()
        ]
        yield " ".join([span(each.window), "marginals", "truth", f"reports={each.reports}", *marginals])


def _rows(marginal: Marginal, truth: tuple[float, ...] | None, most: int) -> Iterator[list[RenderableType]]:
    found = marginal.estimate
    if found is None:
        yield [plain(marginal.attribute), Text("nobody has answered", style="dim")]
        return
    if isinstance(found, Outputs):
        yield from _output_rows(marginal.attribute, found, most)
        return
    if not isinstance(found, Frequencies):
        yield _mean_row(marginal.attribute, found, truth)
        return
    order = sorted(range(len(found.values)), key=lambda value: -found.projected[value])
    largest = max((*found.projected, *(truth or ())), default=0.0) or 1.0
    for place, value in enumerate(order[:most]):
        error = found.standard_error[value]
        row: list[RenderableType] = [
            plain("" if place else marginal.attribute),
            plain(found.values[value]),
            Bar(size=largest, begin=0, end=found.projected[value], width=BAR_WIDTH, color="cyan"),
            *(shown(number, error) for number in (found.projected[value], error, found.raw[value])),
        ]
        yield row if truth is None else [*row, shown(truth[value], error)]
    if len(order) > most:
        rest = sum(found.projected[value] for value in order[most:])
        yield ["", Text(f"and {len(order) - most:,} more with {rest:.4f} together", style="dim")]
    if found.dropped:
        yield ["", Text(f"{len(found.dropped):,} candidates do not stand out, and have no estimate", style="dim")]
    if found.others is not None:
        yield ["", Text(f"none of these: {found.others:.4f}", style="dim")]


def _output_rows(attribute: str, found: Outputs, most: int) -> Iterator[list[RenderableType]]:
    largest = max(found.share, default=0.0) or 1.0
    for number, (share, error) in enumerate(zip(found.share[:most], found.standard_error, strict=False)):
        yield [
            plain("" if number else attribute),
            Text(f"output {number}"),
            Bar(size=largest, begin=0, end=share, width=BAR_WIDTH, color="cyan"),
            shown(share, error),
            shown(error, error),
        ]
    yield ["", Text("from which no frequencies follow", style="dim")]


def _mean_row(attribute: str, found: Numbers, truth: tuple[float, ...] | None) -> list[RenderableType]:
    least, largest = found.range
    mean, error = found.mean, found.mean.standard_error
    row: list[RenderableType] = [
        plain(attribute),
        Text("mean"),
        Bar(size=largest - least, begin=0, end=mean.projected - least, width=BAR_WIDTH, color="cyan"),
        *(shown(number, error) for number in (mean.projected, error, mean.raw)),
    ]
    return row if truth is None else [*row, shown(truth[0], error)]


def _frequency_words(attribute: str, found: Frequencies, truth: tuple[float, ...] | None) -> Iterator[str]:
    order = sorted(range(len(found.values)), key=lambda value: -found.projected[value])
    for value in order[:LINE_CELLS]:
        error = found.standard_error[value]
        off = "" if truth is None else f"({shown(truth[value], error)})"
        yield (
            f"{word(attribute)}.{word(found.values[value])}={shown(found.projected[value], error)}"
            f"±{shown(error, error)}{off}"
        )
    if len(order) > LINE_CELLS:
        yield f"+{len(order) - LINE_CELLS}"


def with_the_past(what: str, names: Sequence[str], learnt: Learnt) -> str:
    """Say what is known of some numbers with the windows before, the largest first."""
    order = sorted(range(len(names)), key=lambda number: -learnt.estimate[number])
    numbers = [
        f"{names[number]} {shown(learnt.estimate[number], error)} ± {shown(error, error)}"
        for number in order[:LINE_CELLS]
        for error in [learnt.standard_error[number]]
    ]
    more = f", and {len(order) - LINE_CELLS:,} more" if len(order) > LINE_CELLS else ""
    return (
        f"{what} with the windows before, which weigh as much as {quantity(learnt.weight, 'answer')}: "
        f"{', '.join(numbers)}{more}"
    )


def _judgement(marginals: Marginals) -> Iterable[str]:
    asked = ", ".join(f"{each.attribute} {each.reports:,} ({each.mechanism})" for each in marginals.attributes)
    yield f"{quantity(marginals.reports, 'report')}: {asked}"
    for each in marginals.attributes:
        if isinstance(each.estimate, Frequencies | Numbers) and each.estimate.learnt is not None:
            names = each.estimate.values if isinstance(each.estimate, Frequencies) else ("mean",)
            yield with_the_past(each.attribute, names, each.estimate.learnt)
    yield from warning_lines(marginals)
    privacy = marginals.privacy
    yield f"epsilon {shown_epsilon(privacy.for_ever)} for ever: {privacy.assumption}"
    if privacy.published is not None:
        yield published_line(privacy.published)
