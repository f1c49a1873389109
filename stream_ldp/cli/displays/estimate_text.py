"""This module turns estimates into text, by pure functions."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.bar import Bar
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stream_ldp.cli.displays.digits import shown, shown_p
from stream_ldp.cli.displays.plain import plain
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from stream_ldp.printable import printable
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from rich.console import RenderableType

    from stream_ldp.cli.simulation.truth import WindowTruth
    from stream_ldp.pipeline.answer import Answer, Published, WindowBounds
    from stream_ldp.records.answer import Estimate, Linked

__all__ = [
    "BAR_WIDTH",
    "LINE_CELLS",
    "framed",
    "panel",
    "plain_line",
    "plausible",
    "published_line",
    "span",
    "state",
    "truth_line",
    "warning_lines",
    "word",
]

#: Width of the longest bar, in columns.
BAR_WIDTH = 30
#: The most cells or items on a line.
LINE_CELLS = 6


def panel(estimate: Estimate, *, truth: NDArray[np.float64] | None = None, cells: int = 12) -> RenderableType:
    """Show an estimate as a table of its most probable cells, with what is needed to judge it.

    truth: the joint to compare it with, of the same shape.
    cells: the most rows of the table.
    """
    joint, error = estimate.joint(), estimate.standard_errors()
    order = np.argsort(-joint, axis=None, kind="stable")[:cells]
    labels = _labels([axis.values for axis in estimate.axes])
    largest = max(joint.max(initial=0.0), 0.0 if truth is None else truth.max(initial=0.0)) or 1.0

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(plain(", ".join(axis.attribute for axis in estimate.axes)))
    table.add_column()
    table.add_column("probability", justify="right")
    table.add_column("± s.e.", justify="right")
    if truth is not None:
        table.add_column("truth", justify="right")
    for cell in order.tolist():
        row: list[RenderableType] = [
            plain(labels[cell]),
            Bar(size=largest, begin=0, end=joint.flat[cell], width=BAR_WIDTH, color="cyan"),
            shown(joint.flat[cell], error.flat[cell]),
            shown(error.flat[cell], error.flat[cell]),
        ]
        if truth is not None:
            row.append(shown(truth.flat[cell], error.flat[cell]))
        table.add_row(*row)
    parts: list[RenderableType] = [table]
    if joint.size > len(order):
        rest = 1 - joint.flat[order].sum()
        parts.append(Text(f"and {joint.size - len(order):,} more cells with {rest:.4f} together", style="dim"))
    return framed(estimate, parts, _judgement(estimate, truth), what=estimate.estimate, settled=estimate.final)


def framed(
    answer: Answer, parts: Iterable[RenderableType], judgement: Iterable[str], *, what: str, settled: bool
) -> Panel:
    """Put a frame around the parts of an answer and, below them, the lines by which to judge it.

    what: what the collection's answer is about, for the title.
    settled: whether no later answer replaces this one.
    """
    return Panel(
        Group(*parts, Text(""), *map(plain, judgement)),
        title=plain(f"{answer.collection} · {what}"),
        subtitle=plain(f"{span(answer.window)} · {state(answer)}"),
        border_style="green" if settled else "yellow",
        box=box.ROUNDED,
        expand=False,
    )


def plain_line(estimate: Estimate, *, truth: NDArray[np.float64] | None = None) -> str:
    """Show an estimate on one line, for a pipe or a log, with its most probable cells only."""
    joint, error = estimate.joint(), estimate.standard_errors()
    labels = _labels([axis.values for axis in estimate.axes], between=",")
    words = [
        span(estimate.window),
        estimate.estimate,
        state(estimate),
        f"reports={estimate.reports}",
        *([] if estimate.linked is None else [f"users={estimate.linked.users}"]),
        f"certified={'yes' if estimate.fit.certified else 'no'}",
        f"dependent={'yes' if estimate.independence.dependent else 'no'}",
        f"plausible={plausible(estimate)}",
    ]
    if truth is not None:
        words.append(f"distance={estimate.distance(truth):.4f}")
    return " ".join([*words, *_cells(joint, labels, error)])


def published_line(published: Published) -> str:
    """Say what readers of answers could learn, beside what the service could."""
    epsilon = shown_epsilon(published.epsilon)
    return f"epsilon {epsilon}, but for {published.delta:g}, where the service is trusted and only finals are read"


def warning_lines(answer: Answer) -> Iterable[str]:
    """Warn of reports that do not look as honest ones do."""
    if answer.plausibility is not None and answer.plausibility.flagged:
        yield f"WARNING: honest reports hardly ever look like this ({shown_p(answer.plausibility.p_value)})"


def truth_line(name: str, values: Sequence[Sequence[str]], truth: WindowTruth) -> str:
    """Show the truth of one estimate in one window, in the form in which `plain_line` shows the estimate."""
    joint, labels = np.array(truth.probability, dtype=np.float64), _labels(values, between=",")
    return " ".join([span(truth.window), name, "truth", f"reports={truth.reports}", *_cells(joint, labels)])


def _judgement(estimate: Estimate, truth: NDArray[np.float64] | None) -> Iterable[str]:
    yield quantity(estimate.reports, "report") + (
        f", worth {estimate.effective_reports:,.0f} of different users in one window"
        if estimate.effective_reports != estimate.reports
        else ""
    )
    fit = estimate.fit
    within = "within" if fit.certified else "NOT within"
    if estimate.views is None:
        yield (
            f"{fit.method} from {fit.start}, {fit.iterations} iterations; could gain {fit.certificate:.2g} nats at "
            f"most, {within} tolerance"
        )
    else:
        told = sum(1 for view in estimate.views if view.reports)
        yield (
            f"made of {told} of {len(estimate.views)} views, in {fit.iterations} sweeps, the last of which changed "
            f"it by {fit.certificate:.2g}, {within} tolerance"
        )
    if (temporal := estimate.temporal) is not None and temporal.users:
        distance = estimate.distance(np.array(temporal.alone))
        yield (
            f"the windows before weigh as much as {quantity(temporal.users, 'more user')} would, and move the "
            f"answer by {distance:.4f}"
        )
    independence = estimate.independence
    if len(estimate.axes) > 1:
        verdict = (
            "the attributes depend on each other"
            if independence.dependent
            else "no dependence can be shown: the attributes may be independent"
        )
        # The test takes 999 samples, so it can say no less.
        yield f"{verdict} ({shown_p(independence.p_value, least=0.001)})"
    yield from warning_lines(estimate)
    privacy = estimate.privacy
    per_report, for_ever = shown_epsilon(privacy.per_report), shown_epsilon(privacy.for_ever)
    yield f"epsilon {per_report} a report, {for_ever} for ever: {privacy.assumption}"
    if estimate.linked is not None:
        yield estimate.linked.privacy
        yield _linked(estimate.linked)
    if privacy.published is not None:
        yield published_line(privacy.published)
    if truth is not None:
        yield f"distance to the truth {estimate.distance(truth):.4f}"


def _linked(linked: Linked) -> str:
    """Say whose reports an estimate of linked ones is made of."""
    returned = "" if linked.returning is None else f", of whom {linked.returning:.0%} reported in the window before"
    return f"{quantity(linked.reports, 'report')} of the period, of {quantity(linked.users, 'user')}{returned}"


def _cells(
    joint: NDArray[np.float64], labels: Sequence[str], error: NDArray[np.float64] | None = None
) -> Iterable[str]:
    order = np.argsort(-joint, axis=None, kind="stable")[:LINE_CELLS].tolist()
    for cell in order:
        off = None if error is None else float(error.flat[cell])
        spread = "" if off is None else f"±{shown(off, off)}"
        yield f"{word(labels[cell])}={shown(joint.flat[cell], off)}{spread}"
    if joint.size > len(order):
        yield f"+{joint.size - len(order)}"


def _labels(values: Sequence[Sequence[str]], *, between: str = ", ") -> list[str]:
    """Name the cells, in C order."""
    return [between.join(cell) for cell in product(*values)]


def word(label: str) -> str:
    """Write a label without blanks, since these separate the words of a line, and without the ends of a line."""
    return printable(label).replace(" ", "_")


def plausible(answer: Answer) -> str:
    """Say whether the reports look as honest ones do, if that can be tested."""
    if answer.plausibility is None:
        return "untested"
    return "no" if answer.plausibility.flagged else "yes"


def state(answer: Answer) -> str:
    """Say whether an answer is final or may still change."""
    return "final" if answer.final else "provisional"


def span(window: WindowBounds) -> str:
    """Show a window as an ISO 8601 interval, UTC."""
    return str(window)
