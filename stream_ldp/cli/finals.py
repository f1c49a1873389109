"""Read final answers that `watch` has printed, for the plan of the next collection."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream_ldp.errors import DataError
from stream_ldp.pipeline.answer import Status

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.pipeline.answer import AnswerT


def read_finals(file: Path, of: type[AnswerT]) -> list[AnswerT]:
    """Read the final answers of a file, which has one on each line, as JSON; provisional ones are passed over.

    file: `-` for standard input.
    of: the class of the answers.

    Raises:
        DataError: the file cannot be read, or a line of it is no such answer.
    """
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
            answer = of.from_bytes(line.encode())
        except ValueError:
            raise DataError(
                f"{name}, line {number}: not an {of.__name__.lower()}; write them by `stream-ldp watch COLLECTION "
                "--finals --once --json`"
            ) from None
        if answer.final and answer.status is Status.ANSWERED:
            found.append(answer)
    return found
