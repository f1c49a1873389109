"""The page on how many users a question needs: `stream-ldp evaluate` for more and more users, as tables and plots.

python -m tests.benchmarks.how_many --write
"""

import json
import math
import shlex
import sys
from html import escape

from typer.testing import CliRunner

from stream_ldp.cli import app
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "how-many-users.md"
IMAGES = REPOSITORY / "docs" / "images"

USERS = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
_EVALUATE = "evaluate --data docker/people.csv --repeats 20"


def _frequency(epsilon: str) -> str:
    return f"{_EVALUATE} --collection '{{mechanism: {{kind: sampled, epsilon: {epsilon}}}, attributes: [mobility]}}'"


def _joint(mechanism: str) -> str:
    parts = f"mechanism: {{{mechanism}}}, attributes: [bathing, mobility], estimates: [{{method: em}}]"
    return f"{_EVALUATE} --collection '{{{parts}}}'"


#: The commands of each plot, by the name of their line; the number of users follows.
COMMANDS: dict[str, dict[str, str]] = {
    "frequencies": {f"epsilon {epsilon}": _frequency(epsilon) for epsilon in ("0.5", "1", "2", "4")},
    "joint": {
        "f 0.25, p 0.25, q 0.75": _joint("kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75"),
        "f 0.5, p 0.5, q 0.75": _joint("kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75"),
        "k-rr, epsilon 1": _joint("kind: k-rr, epsilon: 1"),
        "k-rr, epsilon 2": _joint("kind: k-rr, epsilon: 2"),
    },
}
_TITLES = {
    "frequencies": "Frequencies of three values, each user reporting one attribute",
    "joint": "The joint distribution of two attributes, of two and three values",
}
_COLOURS = ("#0b6e99", "#c77700", "#5b8c2a", "#8a4f9e")


def command(plot: str, line: str, users: int) -> str:
    """Return the command that measures a point."""
    return f"{COMMANDS[plot][line]} --users {users}"


def measured(plot: str, line: str, users: int) -> float:
    """Measure a point: the mean average variation distance."""
    done = CliRunner().invoke(app, [*shlex.split(command(plot, line, users)), "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["results"]
    return float(found["metrics"]["avd"])


def svg(plot: str, lines: dict[str, list[float]]) -> str:
    """Draw distances against users, both in powers of ten."""
    width, height, left, top = 640, 340, 60, 20
    low, high = math.log10(USERS[0]), math.log10(USERS[-1])

    def x_of(users: float) -> float:
        return left + (width - left - 170) * (math.log10(users) - low) / (high - low)

    def y_of(distance: float) -> float:
        return top + (height - top - 50) * -math.log10(distance) / 3

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-size="12" '
        f'font-family="sans-serif" aria-label="{escape(_TITLES[plot])}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for distance in (1, 0.1, 0.01, 0.001):
        y = y_of(distance)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 170}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{distance:g}</text>')
    parts += [
        f'<text x="{x_of(users):.1f}" y="{height - 32}" text-anchor="middle">{users:,}</text>' for users in USERS
    ]
    parts.append(f'<text x="{(left + width - 170) / 2}" y="{height - 10}" text-anchor="middle">users</text>')
    parts.append(f'<text x="{left}" y="12">average variation distance</text>')
    ends: list[tuple[float, str, str]] = []
    for (name, distances), colour in zip(lines.items(), _COLOURS, strict=True):
        points = [(x_of(users), y_of(each)) for users, each in zip(USERS, distances, strict=True)]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        ends.append((points[-1][1], name, colour))
    label = 0.0
    for y, name, colour in sorted(ends):
        label = max(y + 4, label + 14)
        parts.append(f'<text x="{width - 160}" y="{label:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def made(found: dict[str, dict[str, list[float]]]) -> str:
    """Return the page."""
    parts = [
        """\
# How many users

This page is for everyone who plans a collection. It shows whether enough people will report. The noise of a report is
fixed by its epsilon; the error of an answer falls with the square root of the number of users, once there are enough.
So a tenth of the error takes a hundred times as many users. The error of a joint distribution falls more slowly where
few users report under strong noise: it is then shrunk towards the product of its marginals.

The distance is the average variation distance: half the sum of the absolute errors of all values, which is the
largest error of the probability of any event. The truth is that of the users drawn; all numbers are means of 20
repeats, with seed 0. `python -m tests.benchmarks.how_many --write` makes this page, by the commands below its plots.
Take your own table, and add `--wanted 0.05` to find how many users that distance takes. `stream-ldp plan survey.yaml
--wanted 0.05` predicts it without a table.
"""
    ]
    for plot, lines in found.items():
        rows = [
            f"| {name} | {' | '.join(f'{distance:.3g}' for distance in distances)} |"
            for name, distances in lines.items()
        ]
        first = next(iter(lines))
        parts.append(f"""\
## {_TITLES[plot]}

![The distance falls with the number of users](images/users-{plot}.svg)

| users | {" | ".join(f"{users:,}" for users in USERS)} |
|---|{"---:|" * len(USERS)}
{chr(10).join(rows)}

The first point is measured by

    stream-ldp {command(plot, first, USERS[0])}
""")
    parts.append("""\
## Rules of thumb

* Ask about less at a time: a user who reports one attribute spends the whole epsilon on it. Compare `rr-ldp` with
  [views](mechanisms.md#joint-distributions-of-many-attributes-views).
* Longer windows have more users. Windows without users in common learn from the previous ones: see
  [how accurate](accuracy.md).
* `stream-ldp plan survey.yaml` states the errors to expect for 1,000 to 1,000,000 reports, before anybody reports;
  with `--data`, those of users like the ones in a table of yours.
* Read the standard errors of an answer: if they are as large as the frequencies, too few users have reported.
""")
    return "\n".join(parts)


def main() -> None:
    """Measure all points, and print the page or write it with its plots."""
    found = {
        plot: {line: [measured(plot, line, users) for users in USERS] for line in lines}
        for plot, lines in COMMANDS.items()
    }
    if "--write" not in sys.argv[1:]:
        sys.stdout.write(made(found))
        return
    for plot, lines in found.items():
        (IMAGES / f"users-{plot}.svg").write_text(svg(plot, lines), encoding="utf-8")
    PAGE.write_text(made(found), encoding="utf-8")


if __name__ == "__main__":
    main()
