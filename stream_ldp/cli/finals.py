"""This module reads final estimates that `watch` has printed, for the plan of the next collection."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream_ldp.errors import DataError
from stream_ldp.pipeline.answer import Status
from stream_ldp.records.answer import Estimate
from stream_ldp.views.dependence import expecting, shown_dependence

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.views.collection import ViewsCollection

__all__ = ["for_finals"]


def for_finals(collection: ViewsCollection, file: Path) -> tuple[ViewsCollection, str]:
    """Return the collection whose design is chosen for the dependence that finals show, and say what it is.

    file: a line of JSON for each estimate; `-` for standard input. Provisional ones are passed over.

    Raises:
        DataError: the file cannot be read, or a line of it is no estimate.
        ParameterError: see `shown_dependence` and `expecting`.
    """
    shown = shown_dependence(collection, _read(file))
    found = expecting(collection, shown)
    dependence, pairs = found.mechanism_spec.dependence, f"{shown.pairs:,} pair{'s' if shown.pairs > 1 else ''}"
    return found, f"dependence: {dependence}, as the finals show of {pairs} of attributes"


def _read(file: Path) -> list[Estimate]:
    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: cannot be read: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            estimate = Estimate.from_bytes(line.encode())
        except ValueError:
            raise DataError(
                f"{name}, line {number}: not an estimate; write them by `stream-ldp watch COLLECTION --finals --once "
                "--json`"
            ) from None
        if estimate.final and estimate.status is Status.ANSWERED:
            found.append(estimate)
    return found
