"""An answer of any kind as text: on a line, and as a panel."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich import box
from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stream_ldp.cli.displays.table_text import plain
from stream_ldp.collection.values import is_bin
from stream_ldp.digits import decimals, shown, shown_p
from stream_ldp.pipeline.answer import Answer, Status, WindowBounds
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from stream_ldp.collection.labels import Labels
    from stream_ldp.pipeline.cells import Cell, CellKey
    from stream_ldp.pipeline.judgement import Look

#: Width of the longest bar, in columns.
_BAR_WIDTH = 30
#: The most cells of a group on a line.
_LINE_CELLS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerText:
    """The text of an answer that somebody's reports led to.

    read: the answer as people read it, with labels in place of values.
    title: what it is about: the title of its collection, or its name.
    groups: its cells by group, those with the largest estimates first.
    names: what each cell is about, as people read it.
    headings: the same of groups.
    truth: true numbers to compare it with, as `Answer.score` takes them; None where none are known.
    compared: the groups that the true numbers are of.
    ranks: ranks of the cells in an earlier answer; None where there is none.
    """

    answer: Answer
    read: Answer
    title: str
    look: Look
    groups: Mapping[str, Sequence[Cell]]
    names: Mapping[CellKey, Sequence[str]]
    headings: Mapping[str, str]
    truth: Mapping[CellKey, float] | None
    compared: frozenset[str]
    ranks: Mapping[CellKey, int] | None

    @classmethod
    def of(
        cls,
        answer: Answer,
        *,
        truth: Mapping[CellKey, float] | None = None,
        before: Answer | None = None,
        labels: Labels = MappingProxyType({}),
        title: str | None = None,
    ) -> AnswerText:
        """Prepare the text.

        before: the answer that ranks are compared with.
        labels: what people read in place of values.
        title: of its collection; None for its name.
        """
        look, read = answer.look, answer.labelled(labels)
        pairs = list(zip(answer.cells(), read.cells(), strict=True))
        earlier = _groups(before.cells()).values() if before is not None and look.ranked else None
        return cls(
            answer=answer,
            read=read,
            title=title or answer.collection,
            look=look,
            groups=_groups(cell for cell, _ in pairs),
            names={cell.key: named.names for cell, named in pairs},
            headings={cell.group: named.group for cell, named in pairs},
            truth=truth,
            compared=frozenset(group for group, _ in truth or ()),
            ranks=None
            if earlier is None
            else {cell.key: rank for cells in earlier for rank, cell in enumerate(cells, start=1)},
        )

    def line(self) -> str:
        """Show the answer on one line, for a pipe or a log, with its largest cells only.

        Where nobody reported in its window, or in any of those that its bounds span, it says that alone.
        """
        answer = self.answer
        if answer.status is Status.NO_REPORTS:
            return " ".join([str(answer.window), answer.series, "no-reports", *self._regions()])
        words = [
            *_head(answer.window, answer.series, "final" if answer.final else "provisional", answer.reports),
            f"plausible={_plausible(answer)}",
            *(f"{_word([name])}={value}" for name, value in answer.judgement().facts.items()),
            *(f"{name}={measure}" for name, measure in self._score()),
            *self._regions(),
        ]
        for cells in self.groups.values():
            words += [self._words(cell) for cell in _in_order(cells[:_LINE_CELLS])]
            words += _more(cells)
        return " ".join(words)

    def panel(self, *, rows: int = 12) -> RenderableType:
        """Show the answer as a table of its largest cells, with what is needed to judge it.

        rows: the most cells of each group.
        """
        answer = self.answer
        parts: list[RenderableType] = [
            self._table(rows) if self.groups else Text("no numbers to show", style="dim"),
            Text(""),
            *map(plain, self._sentences()),
        ]
        return Panel(
            Group(*parts),
            title=plain(f"{self.title} · {self.look.title}"),
            subtitle=plain(f"{answer.window} · {'final' if answer.final else 'provisional'}"),
            border_style="green" if answer.settled else "yellow",
            box=box.ROUNDED,
            expand=False,
        )

    def document(self) -> dict[str, Any]:
        """Return what the JSON of the answer adds about the truth; nothing without a truth."""
        if self.truth is None:
            return {}
        found: dict[str, Any] = {}
        for group in [group for group in self.groups if group in self.compared]:
            numbers = found.setdefault(group, {}) if group else found
            numbers |= {", ".join(cell.names): self._true(cell) for cell in self.groups[group]}
        return {"truth": found} | {name: measure.value for name, measure in self._score()}

    def _table(self, rows: int) -> Table:
        """Draw the cells: their rank and names, a bar, and their numbers."""
        cells = [cell for group in self.groups.values() for cell in group]
        headings = [self.look.number, "95 % interval"]
        if with_raw := any(cell.raw is not None for cell in cells):
            headings.append("raw")
        headings += [*self.look.others.values(), *(() if self.truth is None else ("truth",))]
        table = Table(box=None, padding=(0, 2, 0, 0))
        if self.look.ranked:
            table.add_column("rank", justify="right")
        if self.ranks is not None:
            table.add_column("change")
        for name in (*((self.look.group,) if self.look.group else ()), *self.look.names, ""):
            table.add_column(plain(name))
        for heading in headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for group, members in self.groups.items():
            whole = self._whole(members)
            for rank, cell in enumerate(_in_order(members[:rows]), start=1):
                table.add_row(
                    *self._place(rank, cell),
                    *((plain("" if rank > 1 else self.headings[group]),) if self.look.group else ()),
                    *map(plain, self.names[cell.key]),
                    _bar(cell.estimate, whole),
                    _number(cell.estimate, cell),
                    _interval(cell),
                    *((_number(cell.raw, cell),) if with_raw else ()),
                    *(f"{cell.others[name]:.2g}" for name in self.look.others),
                    *(() if self.truth is None else (_number(self._true(cell), cell),)),
                )
            if rest := members[rows:]:
                table.add_row(*self._rest(rest), style="dim")
        return table

    def _place(self, rank: int, cell: Cell) -> Iterator[RenderableType]:
        if self.look.ranked:
            yield str(rank)
        if self.ranks is None:
            return
        if cell.key not in self.ranks:
            yield Text("new", style="bold")
            return
        risen = self.ranks[cell.key] - rank
        if risen > 0:
            yield Text(f"▲{risen}", style="green")
        else:
            yield Text(f"▼{-risen}", style="red") if risen else Text("=", style="dim")

    def _rest(self, cells: Sequence[Cell]) -> Iterator[str]:
        """Count the cells that are not shown; where they are no ranking, with what they are together."""
        yield from [""] * (self.look.ranked + (self.ranks is not None) + bool(self.look.group))
        yield f"and {len(cells):,} more"
        if not self.look.ranked:
            yield from [""] * len(self.look.names)
            yield _number(sum(cell.estimate for cell in cells), cells[0])

    def _whole(self, cells: Sequence[Cell]) -> tuple[float, float]:
        """Return the least and the largest number of a bar; of a cell alone, those that it can be."""
        if len(cells) == 1:
            return cells[0].range
        return 0.0, max(max(cell.estimate, self._true(cell) or 0.0) for cell in cells)

    def _regions(self) -> list[str]:
        """Write what the answer has of each region as a word of a line; none where there are no regions."""
        parts = self.answer.sources
        return [] if parts is None else [f"regions={','.join(f'{part.region}:{part.state}' for part in parts)}"]

    def _sentences(self) -> Iterator[str]:
        answer, judged = self.answer, self.read.judgement()
        if answer.sources is not None:
            yield f"regions: {'; '.join(map(str, answer.sources))}"
        yield from judged.evidence
        yield from judged.previous
        if answer.plausibility is None:
            yield "no test of these reports can detect crafted ones"
        elif answer.plausibility.flagged:
            p = shown_p(answer.plausibility.p_value)
            yield f"WARNING: the plausibility test fails ({p}): some reports may be crafted"
        for each in answer.liars:
            number = each.about or "a number"
            yield f"{each.liars:.0%} of users with crafted reports can move {number} by at most {each.most:.2g}"
        yield from judged.privacy
        if measures := self._score():
            text = ", ".join(f"{name} {measure}" for name, measure in measures)
            yield f"beside the truth: {text.replace('_', ' ').replace('/', ' of ')}"

    def _words(self, cell: Cell) -> str:
        error, true = cell.standard_error, self._true(cell)
        off = "" if true is None else f"({shown(true, error)})"
        spread = "" if error is None else f"±{shown(error, error)}"
        path = _path((self.headings[cell.group], tuple(self.names[cell.key])))
        return f"{_word(path)}={shown(cell.estimate, error)}{spread}{off}"

    def _true(self, cell: Cell) -> float | None:
        """Return the true number of a cell; None where nothing is known of its group."""
        if self.truth is None or cell.group not in self.compared:
            return None
        return self.truth.get(cell.key, 0.0) * self.look.scale

    def _score(self) -> list[tuple[str, Any]]:
        return [] if self.truth is None else list(self.answer.score(self.truth).items())


def truth_line(window: WindowBounds, target: str, users: int, truth: Mapping[CellKey, float]) -> str:
    """Show what is true in a window, in the form in which `AnswerText.line` shows an estimate of it."""
    words = _head(window, target, "truth", users)
    for group in dict.fromkeys(group for group, _ in truth):
        keys = [key for key in truth if key[0] == group]
        members = sorted(keys, key=lambda key: -truth[key])
        shown_keys = members[:_LINE_CELLS]
        if any(is_bin(name) for _, (name, *more) in keys if not more):
            shown_keys.sort(key=keys.index)
        words += [f"{_word(_path(key))}={shown(truth[key], None)}" for key in shown_keys]
        words += _more(members)
    return " ".join(words)


def _groups(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the cells that a display shows, by group, those with the largest estimates first."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.names:
            found.setdefault(cell.group, []).append(cell)
    return {group: sorted(members, key=lambda cell: -cell.estimate) for group, members in found.items()}


def _in_order(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return cells by their places, where their group has an order of its own."""
    placed = [(cell.place, cell) for cell in cells if cell.place is not None]
    return [cell for _, cell in sorted(placed, key=lambda each: each[0])] if placed else cells


def _head(window: WindowBounds, what: str, state: str, reports: int) -> list[str]:
    return [str(window), what, state, f"reports={reports}"]


def _more(cells: Sequence[object]) -> list[str]:
    return [f"+{len(cells) - _LINE_CELLS}"] if len(cells) > _LINE_CELLS else []


def _path(key: CellKey) -> list[str]:
    group, names = key
    return [*((group,) if group else ()), *names]


def _word(names: Iterable[str]) -> str:
    """Write names without blanks, since these separate the words of a line, and without the ends of a line."""
    return printable(",".join(names)).replace(" ", "_")


def _bar(number: float, whole: tuple[float, float]) -> Bar:
    least, most = whole
    # A bar needs a size, also where nobody seems to hold anything.
    return Bar(size=(most - least) or 1.0, begin=0, end=number - least, width=_BAR_WIDTH, color="cyan")


def _number(number: float | None, cell: Cell) -> str:
    """Write a number of a cell with the digits that its error allows; nothing for one that is not known."""
    return "" if number is None else f"{number:,.{decimals(cell.standard_error)}f}"


def _interval(cell: Cell) -> str:
    """Write the confidence interval of a cell; nothing where there is none."""
    ends = cell.interval()
    return "" if ends is None else f"{_number(ends[0], cell)} to {_number(ends[1], cell)}"


def _plausible(answer: Answer) -> str:
    """Return the result of the plausibility test of the reports, if there is one."""
    if answer.plausibility is None:
        return "untested"
    return "no" if answer.plausibility.flagged else "yes"
