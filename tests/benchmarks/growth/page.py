"""The page docs/performance.md: tables and plots of what was measured, and the arithmetic of a large deployment."""

import json
import math
from pathlib import Path
from typing import Any

_RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[3] / "docs" / "performance.md"

#: Users who report once a day, and the rate of the busiest hour over the mean.
_USERS, _PEAK = 10**9, 3
_DAY_SECONDS = 86_400
#: Reports of a batch of a gateway or a server-side client.
_BATCH = 50
#: Bytes of a record beside its reports: the header of the batch, its id as the key, the content type (44 bytes, see
#: `stream_ldp.pipeline.content_type`), and Kafka's own.
_RECORD = 56 + 16 + 44 + 9
#: Bytes of a batch of 50 reports of 32 bits and of one of a single report.
_BYTES = {_BATCH: _RECORD + 4 * _BATCH, 1: _RECORD + 4}


def kept() -> dict[str, Any]:
    """Read what was measured last."""
    document: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    return document


def keep(document: dict[str, Any]) -> None:
    """Write what was measured, and the page."""
    _RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(made(document), encoding="utf-8")


def made(document: dict[str, Any]) -> str:
    """Make the page."""
    curves = {curve["against"]: curve for curve in document["curves"]}
    return "\n".join([_HEAD, *(_section(curve) for curve in document["curves"]), _sizing(curves)])


_HEAD = """\
# What it costs, and how the cost grows

This page is for everyone who sizes a deployment. It shows what each part costs, and how that grows with the load.

    python -m tests.benchmarks.growth --write

measures by the processor's time on one busy machine, and makes this page. The
[benchmark of speed](../tests/benchmarks/README.md#speed) has the ratios to peers and limits. The level of a curve is
that of one machine; read its shape. The power is that of the size with which the cost grows between the first point
and the last: 0 is flat, 1 is linear. The collection has 16 binary attributes and five pairs, unless a table says
otherwise. A turn of a worker has 2,000 records; of many partitions or collections, each gets a small part of it.
"""


def _section(curve: dict[str, Any]) -> str:
    points = curve["points"]
    sizes = " | ".join(f"{size:,}" for size, _ in points)
    costs = " | ".join(f"{cost:g}" for _, cost in points)
    labels = ", ".join(f'"{size:,}"' for size, _ in points)
    line = ", ".join(f"{cost:g}" for _, cost in points)
    return f"""\
## {curve["against"][0].upper()}{curve["against"][1:]}

| {curve["against"]} | {sizes} |
|---|{"---:|" * len(points)}
| {curve["cost"]} | {costs} |

The cost grows with the power {_power(points):.2f} of the size.

```mermaid
xychart-beta
    x-axis "{curve["against"]}" [{labels}]
    y-axis "{curve["cost"]}"
    line [{line}]
```
"""


def _power(points: list[list[float]]) -> float:
    (first, low), (last, high) = points[0], points[-1]
    return math.log(high / low) / math.log(last / first)


def _sizing(curves: dict[str, dict[str, Any]]) -> str:
    def points(against: str) -> dict[int, float]:
        return dict(curves[against]["points"])

    batch_us, held = points("reports of a batch"), points("batches in an open window")
    solve_ms = points("reports in a window, 8 x 8 cells")
    whole = points("workers that share 4 partitions")[1] / batch_us[_BATCH]
    bytes_a_batch = 1024 * held[max(held)] / max(held)
    mean = _USERS / _DAY_SECONDS
    peak = _PEAK * mean
    live = points("batches of 50 a second, at an even rate")
    lines = []
    for reports in (_BATCH, 1):
        batches = peak / reports
        cells = (
            f"{reports}",
            f"{batches:,.0f}",
            f"{whole * batch_us[reports]:.2g} us",
            f"{_USERS * _BYTES[reports] / reports / 1e9:.3g} GB",
            f"{batches * 60 * bytes_a_batch / 2**20:.3g} MiB",
        )
        lines.append(f"| {' | '.join(cells)} |")
    most = max(solve_ms)
    pairs = 0.5 * 60_000 / solve_ms[most]
    return f"""\
## A billion users a day

By arithmetic from the tables: {_USERS:,} reports a day are {mean:,.0f} a second, and {peak:,.0f} in a busiest hour of
{_PEAK} times the mean. A whole worker that drains a backlog, and also fetches, writes partials, commits and solves,
takes {whole:.2g} times as long for a batch as its counting does.

| reports of a batch | batches a second | a batch of a backlog | on the log a day | ids of a minute's batches |
|---:|---:|---:|---:|---:|
{chr(10).join(lines)}

Do not multiply the two: where reports come at an even rate, what costs are turns, flushes and solves, which a batch
has nearly to itself. As measured, {round(peak / _BATCH):,} batches of {_BATCH} a second take
{live[round(peak / _BATCH)]:.2g} % of a core, five estimates of pairs solved every two seconds included; few reports
take hardly less than many.

One worker counts them, and a second one takes over when it ends. What grows is the log: a report that comes alone
brings {_RECORD} bytes with it: a header, an id, a content type, and a record of Kafka.

A window of a minute then has {60 * peak:,.0f} reports. To solve a pair of 8 x 8 values takes
{solve_ms[most]:.3g} ms for {most:,} reports, and hardly longer for more, since at most 65,025 patterns are
contracted. A worker that gives half of a core to solving has time for
{pairs:,.0f} first solves of such pairs a minute.

Memory goes to the ids of batches in open windows, which detect repeats, and to a table for each pair, pane and
partition. A table has at most 512 KiB up to 16 bits, and the rows themselves above. Ids do not grow with estimates,
nor do tables of up to 16 bits with reports.

A worker that starts or takes a collection over reads the partials of open and remembered windows, the last two
finals of each estimate, and the log between them. It reads nothing older. Only without a commit, or after
a change of the collection's file, does it read all that the topics keep. `python -m tests.benchmarks.rebuild` shows
both on a real Kafka, after 1,000 windows: it read 4 partials with a commit, and 2,070 without.

A gateway takes 1.4 times as long for a batch as a handler of aiohttp that does nothing: [87 us beside 62
us](../tests/benchmarks/README.md#a-gateway), or 11,500 batches a second and core. A batch waits there for others that
go to the brokers with it, 5 to 25 ms.

A window of a million users of strings takes 2.6 to 3 s of a processor to solve at first, and 0.3 to 1.1 s later
(`python -m tests.benchmarks.string_solves`). A later solve counts the reports since the one before. It counts all of
them only for beginnings that were not among the best then. Provisional answers come every two seconds by default, so
they spread the first solve over the window, and its final is a later one. A worker that takes a window over, or a
collection whose `every` is as long as its window, has the first solve at once, and once. It does not take less than a
second: 45,000 beginnings of four letters, and as many whole strings, are compared with 0.9 million answers, 64 at a
time. These are 0.6 billion words, with five operations and a count of bits each, which numpy needs 1.5 s for.
Products of matrices would need as long, and compiled code 0.9 s ([why there is none](decisions/09-pure-python.md)).
"""
