"""The truth of a simulation, to compare answers of any kind with: counted as users report, and kept in a file."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from stream_ldp.errors import DataError
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.answer import Answer, WindowBounds
from stream_ldp.pipeline.windows import pane_of, panes_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream_ldp.collection import Collection
    from stream_ldp.pipeline.cells import CellKey


class TruthError(DataError):
    """A file does not hold a simulation's truth, or cannot."""


class Users(BaseModel):
    """What is true of some users.

    users: their number.
    totals: by target, group and names of a cell, its number summed over the users.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    users: int
    totals: tuple[tuple[str, str, tuple[str, ...], float], ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of all that is estimated of them."""
        return tuple(dict.fromkeys(target for target, *_ in self.totals))

    def numbers(self, target: str) -> dict[CellKey, float]:
        """Return the numbers of the cells of a target, of a user on average."""
        return {(group, names): total / self.users for of, group, names, total in self.totals if of == target}


class WindowUsers(Users):
    """What is true of the users who reported in one window."""

    window: WindowBounds


class Truth(BaseModel):
    """The truth of a simulation.

    population: of the whole table.
    windows: of the users who have reported, window by window; none where these are not counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    collection: str
    fingerprint: str
    population: Users
    windows: tuple[WindowUsers, ...] = ()

    def of(self, answer: Answer) -> dict[CellKey, float] | None:
        """Return what to compare an answer with: the truth of its window, or of the population if that is unknown.

        It is None if the simulation was of another collection, or of another version of it.
        """
        if answer.fingerprint != self.fingerprint:
            return None
        known = next((window for window in self.windows if window.window == answer.window), self.population)
        return known.numbers(answer.target) or None

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
            raise TruthError(f"{path}: not the truth of a simulation, as `simulate --truth` writes it") from error

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


def truth_in(file: Path | None, answer: Answer) -> dict[CellKey, float] | None:
    """Read what to compare an answer with, anew as a simulation goes on; None while there is no file."""
    return None if file is None or not file.exists() else Truth.load(file).of(answer)


class TruthTally:
    """A tally counts what is true of the users who have reported."""

    def __init__(self, collection: Collection, population: Any) -> None:
        """Start with no users.

        population: users, one a row, as the collection's kind takes them.
        """
        self._collection = collection
        self._totals = partial(kind_of(collection).totals, collection)
        self._population = self._counted(population)
        self._panes: dict[int, Counter[Any]] = defaultdict(Counter)

    def add(self, values: Any, *, time_ms: int) -> None:
        """Add users, one a row, who report at one event time."""
        self._panes[pane_of(time_ms, self._collection.window)].update(self._counted(values))

    def truth(self) -> Truth:
        """Compute the truth of the users that have been added so far."""
        return Truth(
            collection=self._collection.name,
            fingerprint=self._collection.fingerprint.hex(),
            population=Users(**_parts(self._population)),
            windows=tuple(self._windows()),
        )

    def _windows(self) -> Iterator[WindowUsers]:
        window = self._collection.window
        for start in sorted({start for pane in self._panes for start in windows_of(pane, window)}):
            counts: Counter[Any] = Counter()
            for pane in panes_of(start, window):
                counts.update(self._panes.get(pane, {}))
            bounds = WindowBounds(start_ms=start, end_ms=start + window.size_ms)
            yield WindowUsers(window=bounds, **_parts(counts))

    def _counted(self, users: Any) -> Counter[Any]:
        """Count users, and sum what is true of them; their number has the key None."""
        return Counter(dict(self._totals(users)) | {None: len(users)})


def _parts(counts: Counter[Any]) -> dict[str, Any]:
    totals = [(target, *key, total) for (target, key), total in ((k, v) for k, v in counts.items() if k is not None)]
    return {"users": counts[None], "totals": totals}
