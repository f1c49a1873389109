"""This module holds the options of `stream-ldp simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.cli.inputs.table import Binning
    from stream_ldp.collection.records import Missing
    from stream_ldp.kafka.settings import Settings

__all__ = ["SimulateOptions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulateOptions:
    """The options of `simulate`; each kind of collection refuses those that it has no use for.

    data: file of the population.
    users: number of users; None for one for each row.
    rate, windows: reports a second, and number of windows to spread them over, for a collection of records.
    epochs: number of epochs to report in, for a collection of item sets.
    bins, missing: bins of numeric columns, and what becomes of rows that lack a value, for a collection of records.
    """

    data: Path
    users: int | None
    rate: float | None
    windows: int | None
    epochs: int | None
    seed: int | None
    truth_file: Path | None
    bins: Binning
    missing: Missing
    settings: Settings
