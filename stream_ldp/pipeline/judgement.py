"""An answer without its cells: how far to trust it, how it is shown, and how near it is to the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stream_ldp.digits import shown
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream_ldp.filtering.filtered import FilteredEstimate
    from stream_ldp.pipeline.cells import CellKey

#: What is said where there are numbers that are not published.
WITHHELD = "withheld, from fewer users than `min_reports`"

#: The most numbers that a sentence lists.
_LISTED = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a display shows the cells of an answer.

    title: what the answer is about.
    names: headings of the names of a cell.
    number: heading of the estimates.
    group: heading of the groups of cells; empty where there are none.
    ranked: whether cells have a rank, which may change from one answer to the next.
    others: headings of other numbers of a cell that are shown, by their names.
    scale: number that the true share of users is multiplied by to be compared with an estimate.
    """

    title: str
    names: tuple[str, ...] = ("",)
    number: str = "frequency"
    group: str = ""
    ranked: bool = False
    others: Mapping[str, str] = field(default_factory=dict)
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """How far to trust an answer, beside the errors of its cells and the plausibility of its reports.

    facts: short ones, by name, for a line of text.
    evidence: sentences about the reports, and how the numbers follow from them.
    previous: sentences about what previous windows contribute.
    privacy: sentences about what reports cost a user.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    privacy: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A measure of an answer beside the truth.

    of: the largest value that it can have, of a count; None for a distance.
    """

    value: float
    of: int | None = None

    def __str__(self) -> str:
        """Write it with its largest value, or as a distance."""
        return f"{self.value:.4f}" if self.of is None else f"{self.value}/{self.of}"


def found(keys: Iterable[CellKey], truth: Mapping[CellKey, float]) -> Measure:
    """Count the cells that are among as many truly largest ones."""
    named = list(keys)
    least = min(sorted(truth.values(), reverse=True)[: len(named)], default=0.0)
    return Measure(value=sum(truth.get(key, 0.0) >= least > 0.0 for key in named), of=len(named))


def previous(weight: str, *, periods: str = "windows", about: str = "", more: str = "") -> str:
    """Say how much previous windows weigh in some numbers.

    weight: a quantity of reports or users.
    about: what the numbers are about; empty for the whole answer.
    more: the end of the sentence.
    """
    return f"{f'{about}: ' if about else ''}previous {periods} weigh as much as {weight}{more}"


def filtered_lines(
    learnt: FilteredEstimate | None, names: Sequence[str], *, about: str, unit: str
) -> tuple[str, ...]:
    """Say how much previous windows weigh in some numbers, and what these are with them; nothing if they do not.

    unit: that of the weight, in the singular.
    """
    if learnt is None or not learnt.weight:
        return ()
    numbers = zip(names, learnt.estimate, learnt.standard_error, strict=True)
    order = sorted(numbers, key=lambda each: -each[1])
    listed = [f"{name} {shown(number, error)} ± {shown(error, error)}" for name, number, error in order[:_LISTED]]
    more = f", and {len(order) - _LISTED:,} more" if len(order) > _LISTED else ""
    return (previous(quantity(learnt.weight, unit), about=about, more=f"; with them, {', '.join(listed)}{more}"),)
