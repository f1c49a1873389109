"""What takes rows: each answer's at once, and as often as it is given them with the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.rows import Row


class SinkError(StreamLDPError, RuntimeError):
    """A sink cannot take rows, for a reason that somebody has to put right."""


class SinkAway(SinkError):
    """A sink does not answer, or has no room: the same rows may be taken later."""


class Sink(Protocol):
    """A sink of rows."""

    def open(self) -> None:
        """Get ready, also again after `SinkAway`.

        Raises:
            SinkAway: it cannot be reached now.
            SinkError: it cannot be used, as it holds something else under this name.
        """
        ...

    def write(self, rows: Sequence[Row]) -> None:
        """Keep the rows of one answer, all or none, in place of those with the same keys.

        Raises:
            SinkAway: nothing was kept, since it cannot be reached or is full.
            SinkError: nothing was kept, and never will be.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
