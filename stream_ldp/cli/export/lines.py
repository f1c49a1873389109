"""Rows as lines of JSON on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream_ldp.cli.echo import echo_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.rows import Row


class Lines:
    """A sink that prints: after a restart, the lines of a window may come again."""

    def open(self) -> None:
        """Nothing needs to be opened."""

    def write(self, rows: Sequence[Row]) -> None:
        """Print the rows."""
        for row in rows:
            echo_json(row.to_json())
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing needs to be closed."""
