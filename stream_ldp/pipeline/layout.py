"""What the batches of one fingerprint hold, when they may come, and what is counted of them under which name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.pipeline.statistics import Tally

__all__ = ["Layout"]


class Layout(Protocol):
    """The reports of one fingerprint; see `stream_ldp.pipeline.wire.RowFormat` for its rows."""

    @property
    def fingerprint(self) -> bytes: ...

    @property
    def bits(self) -> int: ...

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]: ...

    def takes(self, panes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether its reports may belong to the panes that begin at these times."""
        ...

    def tallies(self) -> dict[tuple[str, ...], Tally]:
        """New tallies for a pane, by what they count."""
        ...

    def count(self, tallies: Mapping[tuple[str, ...], Tally], rows: NDArray[np.uint8]) -> None:
        """Add valid packed rows to a pane's tallies."""
        ...

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which batches no honest client sends, bool, shape (batches,).

        rows: packed reports of all batches one after another; counts: reports of each batch.
        """
        ...
