"""The page on the papers: docs/papers.md, and the plots that it shows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.benchmarks.papers.algorithms import ALGORITHMS
from tests.benchmarks.papers.directions import DIRECTIONS
from tests.benchmarks.papers.figure import Figure, Table
from tests.benchmarks.papers.paper import Claim, Paper, Slip
from tests.benchmarks.papers.papers import PAPERS
from tests.benchmarks.papers.stored import Stored, load
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "papers.md"
IMAGES = REPOSITORY / "docs" / "images" / "papers"

_HEAD = """\
# The papers, figure by figure

This product comes from three papers. This page is for readers who come from them. It shows each of their figures
again, as published and as shipped, judges what they claim, and says where they must not be followed.

    python -m tests.benchmarks.papers DIRECTORY

measures all figures with `nltcs.csv.gz`, `adult.csv.gz`, `mushroom.txt.gz` and `connect.txt.gz` of a directory and
writes this page, in {minutes:.0f} minutes of one core. `--list` lists the figures, `--only FIGURE` measures one,
and `--from-stored` writes the page from what was measured before, which is kept in
`tests/benchmarks/papers/results`. A figure whose data are not in the directory is skipped, with the reason.

How to read it:

* **As published** is the form of the paper, with its slips mended (they are listed below). The keys of a collection
  file ask for it. **As shipped** is the same method without these keys. A better method for the same question
  stands beside them.
* The papers' figures are pictures that our texts of them lack. So their sentences are judged, and not their
  numbers.
* Points are means over repeats, each with its own users and noise, seed 0. Bars, and the numbers behind ±, are
  standard deviations over the repeats. The commands below a figure print the same numbers, except for the seconds.
* Seconds are processor time (`time.process_time`, one thread), on a machine that was busy with other work. Compare
  them with each other.
* A claim is counted wherever possible: at how many points of a figure it is right. It *holds* from 90 % of them on,
  *does not hold* below 25 %, and *holds in part* between.
"""


def write() -> None:
    """Write the page and its plots from what is stored."""
    from tests.benchmarks.papers.plots import svg  # noqa: PLC0415  matplotlib takes a second to import

    stored = load()
    IMAGES.mkdir(parents=True, exist_ok=True)
    results = {name: each.rows for name, each in stored.items()}
    for figure in _figures():
        panels = figure.panels(results) if _measured(figure, stored) else ()
        if panels:
            (IMAGES / f"{figure.name}.svg").write_text(svg(panels, title=figure.title), encoding="utf-8")
    PAGE.write_text(text(stored), encoding="utf-8")


def text(stored: Mapping[str, Stored]) -> str:
    """Make the page from what is stored."""
    seconds = sum(each.cpu_s for each in stored.values())
    parts = [_HEAD.format(minutes=seconds / 60)]
    for paper in PAPERS:
        parts.extend(_of_paper(paper, stored))
    parts += [_algorithms(), _directions()]
    return "\n".join(parts)


def _figures() -> Iterator[Figure]:
    return (figure for paper in PAPERS for figure in paper.figures)


def _measured(figure: Figure, stored: Mapping[str, Stored]) -> bool:
    return any(name in stored for name in figure.studies)


def _of_paper(paper: Paper, stored: Mapping[str, Stored]) -> Iterator[str]:
    yield f"## {paper.name}\n\n{paper.cited}. {paper.about}\n"
    for figure in paper.figures:
        yield from _of_figure(figure, stored)
    results = {name: each.rows for name, each in stored.items()}
    yield f"### What it claims {{ #{paper.key}-claims }}\n"
    yield _claims(paper.claims, results)
    yield f"### Where it must not be followed {{ #{paper.key}-slips }}\n"
    yield _slips(paper.slips)


def _of_figure(figure: Figure, stored: Mapping[str, Stored]) -> Iterator[str]:
    yield f"### {figure.title} {{ #{figure.name} }}\n"
    if not _measured(figure, stored):
        yield "Not measured yet.\n"
        return
    results = {name: each.rows for name, each in stored.items()}
    taken = sum(stored[name].cpu_s for name in figure.studies if name in stored)
    repeats = sorted({row["repeats"] for name in figure.studies for row in results.get(name, ()) if "repeats" in row})
    if figure.panels(results):
        yield f"![{figure.title}](images/papers/{figure.name}.svg)\n"
    yield f"{figure.about}\n"
    for command in figure.commands:
        yield f"    {command}\n"
    of = f", {' or '.join(map(str, repeats))} repeats" if repeats and repeats != [1] else ""
    yield f"Measured by `--only {figure.name}` in {taken:,.0f} s{of}.\n"
    tables = "\n".join(_table(each) for each in figure.tabulated(results))
    if figure.panels(results):
        yield f'<details markdown="1"><summary>The numbers</summary>\n\n{tables}\n</details>\n'
    else:
        yield tables


def _table(table: Table) -> str:
    return f"**{table.title}**\n\n{_rows(table.heads, table.rows)}"


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    marks = ["---", *(["---:"] * (len(heads) - 1) if numbers else ["---"] * (len(heads) - 1))]
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(marks)}|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _linked(figure: str) -> str:
    if figure.endswith(".md"):
        return f"[{figure.rpartition('/')[2]}]({figure})"
    return f"[{figure}](#{figure})"


def _claims(claims: Sequence[Claim], results: Mapping[str, Sequence[dict[str, object]]]) -> str:
    rows = []
    for each in claims:
        verdict, count = each.verdict(results)
        rows.append(
            (
                f"“{each.says}” ({each.place})",
                f"**{verdict}**{f', {count}' if count else ''}",
                _linked(each.figure),
                each.why,
            )
        )
    return _rows(("claim", "verdict", "shown by", "why"), rows, numbers=False)


def _slips(slips: Sequence[Slip]) -> str:
    rows = [(each.place, each.printed, each.right, f"`{each.test.rpartition('::')[2]}`") for each in slips]
    return _rows(("place", "as printed", "what is right", "the test that shows it"), rows, numbers=False)


def _algorithms() -> str:
    rows = [
        (
            each.name,
            each.paper,
            f"`{each.written}`",
            f"`stream_ldp/{each.module}`",
            f"`{each.test.rpartition('::')[2]}`",
            _linked(each.figure),
        )
        for each in ALGORITHMS
    ]
    heads = ("algorithm", "paper", "how to ask for it", "module", "the test that holds it to its promise", "figure")
    return f"## From an algorithm to its module, test and figure\n\n{_rows(heads, rows, numbers=False)}"


def _directions() -> str:
    rows = [(each.wish, each.place, f"**{each.answer}**", each.how) for each in DIRECTIONS]
    intro = "What each paper says should come next, and what of it is here:\n"
    return f"## What the papers wish for\n\n{intro}\n{_rows(('wish', 'place', 'here', 'how'), rows, numbers=False)}"
