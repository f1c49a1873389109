"""Open text files, gzipped or not."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from stream_ldp.errors import DataError


@contextlib.contextmanager
def text_of(path: Path) -> Iterator[TextIO]:
    """Open a file's text, with its line ends as they are.

    Raises:
        DataError: the file cannot be read, also when a later line is.
    """
    try:
        with open_text(path) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: its name ends in .gz, but it is not gzip, or damaged or cut short") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not text in UTF-8; the name of a gzipped file must end in .gz") from error


def open_text(path: Path) -> TextIO:
    """Open a file, gzipped if its name ends in .gz; its errors are raised as they occur."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
