"""The layout of batches: how the reports of one fingerprint are checked and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics import Tally


class Layout(Protocol):
    """The layout of the batches of one fingerprint, which is also a `stream_ldp.pipeline.wire.RowFormat`."""

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def bits(self) -> int: ...

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]: ...

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which panes its reports may belong to.

        panes: starts, event time in milliseconds, int64, shape (n,); the result is bool, of the same shape.
        """
        ...

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """Make empty tallies for a pane, by the names of their statistics."""
        ...

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Add valid packed rows to a pane's tallies, each row to all of them."""
        ...

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which batches do not look as those of honest clients do; bool, shape (batches,).

        rows: packed reports of all batches, one after another.
        counts: number of reports of each batch, shape (batches,).
        """
        ...
