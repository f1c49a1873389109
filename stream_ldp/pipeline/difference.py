"""The differences between the numbers of two windows, and how likely they are by chance alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from stream_ldp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.cells import Cell
    from stream_ldp.pipeline.selection import Selection


def differences(before: Answer, after: Answer, selection: Selection) -> Iterator[Cell]:
    """Return what the numbers of one answer have more than those of an earlier one, with `p_value` among the others.

    The errors of two windows are independent, where neither has reports of the other, nor is made of what the other
    has said; unbiased estimates are taken where there are some. A number that one of both answers lacks, or that has
    an upper bound of its error or none, is left out. Where users return with permanent noise, differences are more
    certain than this.

    Raises:
        ParameterError: the windows overlap, or the later answer is made of earlier windows, too; or an answer has not
            what is selected.
    """
    if after.window.start_ms < before.window.end_ms:
        raise ParameterError(
            f"{after.series}: {before.window} and {after.window} have reports in common: take windows further apart"
        )
    if getattr(after, "effective_reports", 0.0) > after.reports:
        raise ParameterError(
            f"{after.series}: {after.window} counts reports of earlier windows, so that errors of a difference from "
            "them are not known"
        )
    learns = bool(after.judgement().previous)
    known = {_about(cell): cell for cell in selection.cells(before)}
    for cell in selection.cells(after):
        other = known.get(_about(cell))
        errors = [each.standard_error for each in (cell, other) if each is not None and not each.bound]
        if other is None or len(errors) < 2 or None in errors:
            continue
        if learns and cell.raw is None:
            raise ParameterError(
                f"{after.series}: {after.window} has learnt from earlier windows, which shrinks differences "
                "by what is not known\n  -> `prior: window` in the estimate keeps its windows by themselves"
            )
        now, then = (each.estimate if each.raw is None else each.raw for each in (cell, other))
        error, widest = math.hypot(*map(float, filter(None, errors))), cell.range[1] - cell.range[0]
        found = math.erfc(abs(now - then) / (math.sqrt(2.0) * error)) if error else float(now == then)
        yield replace(
            cell,
            estimate=now - then,
            standard_error=error,
            raw=None,
            range=(-widest, widest),
            ends=None,
            others={"p_value": found},
        )


def _about(cell: Cell) -> tuple[tuple[str, str | int], ...]:
    return tuple(cell.labels.items())
