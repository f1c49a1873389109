"""Rows as Parquet files, an archive by collection and month: one file for each answer."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.export.sink import SinkAway, SinkError
from stream_ldp.extras import imported
from stream_ldp.pipeline.rows import arrow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.rows import Row


class ParquetFolder:
    """A sink that keeps DIRECTORY/COLLECTION/YYYY-MM/SERIES-START-FINGERPRINT.parquet.

    A file appears whole, under its name, once it is on the disk: an answer that is written again replaces its file by
    the same one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._parquet: Any = None

    def open(self) -> None:
        """Make the directory.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        self._parquet = imported("pyarrow.parquet", extra="export")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(self._directory, error) from error

    def write(self, rows: Sequence[Row]) -> None:
        first = rows[0].values
        start = first["window_start"].replace(":", "").replace("-", "")
        folder = self._directory / first["collection_name"] / first["window_start"][:7]
        file = folder / f"{first['series']}-{start}-{first['fingerprint'][:8]}.parquet"
        beginning = file.with_suffix(".part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._parquet.write_table(arrow_of(rows), str(beginning))
            with beginning.open("rb") as written:
                os.fsync(written.fileno())
            beginning.replace(file)
        except OSError as error:
            beginning.unlink(missing_ok=True)
            raise _failed(file, error) from error

    def close(self) -> None:
        """Nothing is open between two answers."""


def _failed(path: Path, error: OSError) -> SinkError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return SinkAway(f"{path}: no space left on the device")
    return SinkError(f"{path}: cannot be written: {error.strerror}")
