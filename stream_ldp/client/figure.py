"""Draw answers with matplotlib: bars of one window, lines over several, each with its interval."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from stream_ldp.errors import ParameterError
from stream_ldp.extras import imported
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.cells import Cell

#: The most cells of a figure: more lines cannot be distinguished.
MAX_CELLS = 8
#: A step between windows that is longer than this many of the shortest is a gap, across which no line leads.
_GAP = 1.5


def figure_of(answers: Sequence[Answer], *, level: float, of: Sequence[str] = (), given: Sequence[str] = ()) -> Any:
    """Draw the largest cells of the last answer, in all answers of its series.

    level: probability with which an interval holds the true number.
    of, given: attributes whose distributions are drawn; none for all of the answers.

    Raises:
        MissingExtra: matplotlib is not installed.
        ParameterError: there is nothing to draw, or an answer has no such attributes.
    """
    figure = imported("matplotlib.figure", extra="analysis").Figure(layout="constrained")
    if not answers:
        raise ParameterError("there is no answer to draw")
    series = [answer for answer in answers if answer.series == answers[-1].series]
    cells = {answer.window.end_ms: _cells(answer, of, given) for answer in series}
    last = cells[series[-1].window.end_ms]
    names = sorted(last, key=lambda name: -last[name].estimate)[:MAX_CELLS]
    if not names:
        raise ParameterError("the answer has no numbers to draw")
    axes = figure.add_subplot(title=f"{series[-1].collection}: {series[-1].series}")
    if len(cells) == 1:
        _bars(axes, [(name, last[name]) for name in names], level=level)
        axes.set_xlabel(str(series[-1].window))
    else:
        for name in names:
            _line(axes, name, [(time, found[name]) for time, found in sorted(cells.items()) if name in found], level)
        axes.legend(fontsize="small")
        axes.set_xlabel("end of the window, UTC")
        axes.tick_params(axis="x", labelrotation=30)
    return figure


def _cells(answer: Answer, of: Sequence[str], given: Sequence[str]) -> dict[str, Cell]:
    cells = answer.narrowed_to(of, given=given) if of or given else (each for each in answer.cells() if each.names)
    return {", ".join(map(str, cell.labels.values())): cell for cell in cells if not math.isnan(cell.estimate)}


def _bars(axes: Any, cells: Sequence[tuple[str, Cell]], *, level: float) -> None:
    places = range(len(cells))
    ends = [cell.interval(level) or (cell.estimate, cell.estimate) for _, cell in cells]
    middles = [(low + high) / 2 for low, high in ends]
    axes.barh(places, [cell.estimate for _, cell in cells], alpha=0.55)
    spreads = [(high - low) / 2 for low, high in ends]
    axes.errorbar(middles, places, xerr=spreads, fmt="none", ecolor="black", capsize=3)
    axes.set_yticks(places, [name for name, _ in cells])
    axes.invert_yaxis()


def _line(axes: Any, name: str, points: Sequence[tuple[int, Cell]], level: float) -> None:
    steps = [later - earlier for (earlier, _), (later, _) in pairwise(points)]
    times: list[Any] = []
    values: list[tuple[float, float, float]] = []
    for place, (time, cell) in enumerate(points):
        if place and steps[place - 1] > _GAP * min(steps):
            times.append(times[-1])
            values.append((math.nan,) * 3)
        times.append(datetime.fromtimestamp(time / 1_000, UTC))
        values.append((cell.estimate, *(cell.interval(level) or (math.nan, math.nan))))
    (line,) = axes.plot(times, [value for value, _, _ in values], marker=".", label=name)
    lows, highs = [low for _, low, _ in values], [high for _, _, high in values]
    axes.fill_between(times, lows, highs, alpha=0.15, color=line.get_color(), linewidth=0)
