"""This module has truths to compare the example answers with, and says what a terminal would show."""

from __future__ import annotations

from io import StringIO

import numpy as np
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.cli.simulation.item_truth import ItemTruth
from tests.client.rankings import films

__all__ = ["FILMS_TRUTH", "SURVEY_TRUTH", "run", "shown"]

#: Of `bathing` and `mobility`.
SURVEY_TRUTH = np.array([[0.1, 0.2, 0.25], [0.05, 0.15, 0.25]])
FILMS_TRUTH = ItemTruth(
    collection="films",
    fingerprint=films().fingerprint.hex(),
    frequency={"Casablanca": 0.53, "Brazil": 0.3, "Alien": 0.24},
)


def shown(what: RenderableType) -> str:
    """Return what a console would show, without colours."""
    console = Console(file=StringIO(), width=110, color_system=None)
    console.print(what)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def run(*arguments: object) -> str:
    """Run a command that succeeds, and return what it prints at a wide terminal."""
    done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout
