"""What `stream-ldp simulate` is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.settings import Settings

__all__ = ["SimulateOptions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulateOptions:
    """What can be asked of any population; each kind of collection refuses what means nothing to it.

    data: file of the population.
    users: None for one for each row.
    rate, windows: reports a second, and windows to spread them over, of a collection of records.
    epochs: to answer, of a collection of item sets.
    """

    data: Path
    users: int | None
    rate: float | None
    windows: int | None
    epochs: int | None
    seed: int | None
    truth_file: Path | None
    settings: Settings
