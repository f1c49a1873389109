"""This module prints the results of an evaluation as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["echo_json"]


def echo_json(settings: Mapping[str, object], results: Sequence[Mapping[str, object]]) -> None:
    """Print one object, with the settings of an evaluation and a row for each of its results.

    Raises:
        ValueError: a number is infinite or NaN, which JSON does not have.
    """
    typer.echo(json.dumps({"settings": settings, "results": results}, allow_nan=False))
