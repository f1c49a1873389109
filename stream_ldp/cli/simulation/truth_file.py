"""This module holds what the files of all truths have in common: how they are read and written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from stream_ldp.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TruthError", "TruthFile"]


class TruthError(DataError):
    """A file does not hold a simulation's truth, or cannot."""


class TruthFile(BaseModel):
    """The truth of a simulation, kept in a JSON file.

    origin: what it is the truth of, in messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    origin: ClassVar[str]

    collection: str
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` has written.

        Raises:
            TruthError: it cannot be read, or holds something else.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise TruthError(f"{path}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise TruthError(f"{path}: not the truth of {cls.origin}, as `simulate --truth` writes it") from error

    def save(self, path: Path) -> None:
        """Write the file so that a reader sees either the old or the new one, and nothing in between.

        Raises:
            TruthError: it cannot be written.
        """
        draft = path.with_name(f".{path.name}.draft")
        try:
            draft.write_text(self.model_dump_json(), encoding="utf-8")
            os.replace(draft, path)
        except OSError as error:
            raise TruthError(f"{path}: cannot be written: {error.strerror}") from error
