"""What the evaluations are given: text files, maybe gzipped, and lists of names."""

from __future__ import annotations

import contextlib
import difflib
import gzip
import zlib
from typing import TYPE_CHECKING, TextIO

from stream_ldp.cli.options import fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["distinct", "ordered", "suggestion", "text_of"]


@contextlib.contextmanager
def text_of(path: Path) -> Iterator[TextIO]:
    """The file's text, line ends as they are.

    Raises:
        ValueError: the file cannot be read, at whatever line.
    """
    try:
        with _open(path) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: its name ends in .gz, but it is not gzip, or damaged or cut short") from error
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not text in UTF-8; the name of a gzipped file must end in .gz") from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def ordered(values: Iterable[str]) -> list[str]:
    """Each value once, in the order of integers if all are, else of text."""
    found = sorted(set(values))
    with contextlib.suppress(ValueError):  # of a value that is no integer: the order of text stays
        found = sorted(found, key=int)
    return found


def distinct(listed: str, what: str) -> list[str]:
    """The names between commas, or end the command because one comes twice."""
    names = listed.split(",")
    for name in names:
        if names.count(name) > 1:
            fail(f"{what} {name!r} is given twice in {listed}", code=2)
    return names


def suggestion(name: str, known: Sequence[str]) -> str:
    """The rest of a message about an unknown name."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
