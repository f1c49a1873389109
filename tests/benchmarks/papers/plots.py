"""Figures as SVG that is readable in light and in dark: ink takes the colour of the scheme, and nothing is filled."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from tests.benchmarks.papers.figure import Line, Panel

#: Colours with a contrast of 3 or more on white and on the dark ground of the site.
COLOURS = ("#2f7fd6", "#c96a00", "#2e9e4f", "#b04fd0", "#d8345f")
#: What stands for the ink, which the style of the picture replaces: no other part has this colour.
_INK = "#010203"
_STYLE = (
    "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#d7dbe0}}"
    "text{font-family:system-ui,sans-serif}</style>"
)
_STROKES = {"published": "-", "shipped": "--", "other": ":", "truth": "-"}
_MARKS = {"published": "o", "shipped": "s", "other": "^", "truth": ""}
#: How far answers at whole numbers stand beside the truth.
_BESIDE_TRUTH = {"published": -0.2, "shipped": 0.2, "other": 0.0, "truth": 0.0}
#: Inches of a panel, and panels beside each other.
_WIDTH, _HEIGHT, _BESIDE = 3.5, 3.0, 3


def svg(panels: Sequence[Panel], *, title: str) -> str:
    """Draw the panels of a figure, with one legend."""
    beside = min(_BESIDE, len(panels))
    down = -(-len(panels) // beside)
    settings: Any = {
        "svg.hashsalt": "stream_ldp",
        "svg.fonttype": "none",
        "font.size": 10.5,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
    }
    with mpl.rc_context(settings):
        names = list({line.name: line for panel in panels for line in panel.lines}.values())
        rows_of_legend = -(-len(names) // beside)
        height = _HEIGHT * down + 0.25 * rows_of_legend + 0.2
        canvas = Canvas(figsize=(_WIDTH * beside, height), facecolor="none", layout="constrained")
        axes = canvas.subplots(down, beside, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _draw(axis, panel)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        drawn = {
            label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        canvas.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=beside, frameon=False)
        out = io.StringIO()
        canvas.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Title": title, "Creator": None})
    text = re.sub(r"<\?xml.*?<svg|<!--.*?-->|<metadata>.*?</metadata>", _only_svg, out.getvalue(), flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), re.sub(r"\s*\n\s*", "\n", text))
    head, rest = text.split(">", 1)
    return f'{head} role="img" aria-label="{title}">{_STYLE}{rest.replace(_INK, "currentColor")}'


def _only_svg(found: re.Match[str]) -> str:
    return "<svg" if found[0].endswith("<svg") else ""


def _draw(axis: Any, panel: Panel) -> None:
    axis.patch.set_alpha(0.0)
    axis.set_title(panel.title, fontsize=11)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    axis.set_xscale("log" if panel.log_x else "linear")
    axis.set_yscale("log" if panel.log_y else "linear")
    axis.grid(visible=True, color=_INK, alpha=0.13, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    for line in panel.lines:
        if line.points:
            _draw_line(axis, line)
    if not panel.log_y:
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    for log, along in ((panel.log_x, axis.xaxis), (panel.log_y, axis.yaxis)):
        if log:
            along.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
            along.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}" if f"{x:e}"[0] in "25" else ""))


def _draw_line(axis: Any, line: Line) -> None:
    colour = _INK if line.form == "truth" else COLOURS[line.colour]
    x, y, error = ([getattr(point, part) for point in line.points] for part in ("x", "mean", "deviation"))
    many = len(x) > 40
    if many:  # beside each other, and not on top
        x = [each + _BESIDE_TRUTH[line.form] for each in x]
    axis.errorbar(
        x,
        y,
        yerr=error if any(error) else None,
        color=colour,
        linestyle="" if many and line.form != "truth" else _STROKES[line.form],
        marker=_MARKS[line.form],
        markersize=2.4 if many else 3.4,
        linewidth=1.2,
        elinewidth=0.8,
        capsize=0 if many else 2,
        label=line.name,
    )
    for point in line.points:
        if point.over:
            axis.annotate(
                f"> {point.mean:g}", (point.x, point.mean), ha="center", va="bottom", fontsize=9, color=colour
            )
