"""The results of an evaluation, as a table or as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from stream_ldp.cli.displays.table_text import plain, print_whole
from stream_ldp.evaluation.users_needed import MAX_USERS, Needed
from stream_ldp.mechanisms.privacy_loss import shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.evaluation.experiment import Score

#: Metrics that are epsilons, and are rounded up.
_EPSILON = "epsilon"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The score of one series of a collection, with so many users.

    searched: whether the number of users that a wanted distance needs was searched for.
    needed: it; None if it is too large.
    """

    series: str
    varied: Mapping[str, Any]
    users: int
    score: Score
    searched: bool = False
    needed: Needed | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The result as plain data."""
        needed = self.needed
        return {
            "series": self.series,
            "varied": dict(self.varied),
            "users": self.users,
            "repeats": self.score.repeats,
            "metrics": self.score.metrics,
            "seconds": self.score.seconds,
        } | (
            {
                "users_needed": None if needed is None else needed.users,
                "users_needed_error": None if needed is None else needed.error,
            }
            if self.searched
            else {}
        )


def echo_results(results: Sequence[Result], *, settings: Mapping[str, object]) -> None:
    """Print one object, with the settings of an evaluation and its results.

    Raises:
        ValueError: a number is infinite or NaN, which JSON does not have.
    """
    document = {"settings": settings, "results": [result.document for result in results]}
    typer.echo(json.dumps(document, allow_nan=False))


def show_results(results: Sequence[Result], *, title: str) -> None:
    """Print a table with a row for each result: of the first metric, the standard deviation is shown too."""
    varied = list(dict.fromkeys(key for each in results for key in each.varied))
    metrics = list(dict.fromkeys(name for each in results for name in each.score.metrics))
    first = next((name for name in metrics if f"{name}_sd" in metrics), None)
    shown = [name for name in metrics if not name.endswith("_sd") or name == f"{first}_sd"]
    drawn = Table("series", box=box.SIMPLE, title=plain(title), title_justify="left")
    for key in varied:
        drawn.add_column(plain(key))
    for heading in ("users", *shown, "seconds"):
        drawn.add_column("sd" if heading.endswith("_sd") else heading.replace("_", " "), justify="right")
    for result in results:
        drawn.add_row(
            plain(result.series),
            *(plain(_value(result.varied[key]) if key in result.varied else "") for key in varied),
            f"{result.users:,}",
            *(_number(name, result.score.metrics.get(name)) for name in shown),
            f"{result.score.seconds:.3f}",
        )
    print_whole(Console(highlight=False), drawn)
    typer.echo("The columns are explained in docs/glossary.md, under Columns of `evaluate`.")
    for each in results:
        if each.searched:
            needed = each.needed
            found = f"more than {MAX_USERS:,}" if needed is None else f"{needed.users:,} ± {needed.error:,}"
            said = "".join(f", {key}={_value(value)}" for key, value in each.varied.items())
            typer.echo(f"{each.series}{said} needs {found} users.")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(name: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if name.startswith(_EPSILON):
        return shown_epsilon(value)
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
