"""Collections of users' item sets, whose heavy hitters are named epoch after epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from stream_ldp.collection import Collection, Label, Part, PositiveDuration, require_distinct
from stream_ldp.collection.located import Misplaced
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.sets.methods.methods import MAX_DOMAIN, method
from stream_ldp.sets.schedule import Epochs, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.sets.phases import Method

__all__ = ["ItemCollection", "Items", "MethodSpec", "PhaseSeries", "phase_name"]

#: Names of items in a file: of 200 letters each, they fill a record of the registry. Larger domains are numbered.
MAX_NAMES = 2**16


class Items(Part):
    """The items that sets are made of: `size` of them, called 0 to size - 1, or those with `names`."""

    size: int | None = Field(default=None, ge=1, le=MAX_DOMAIN)
    names: tuple[Label, ...] | None = Field(default=None, min_length=1, max_length=MAX_NAMES)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.size is None) == (self.names is None):
            raise ParameterError("give either `size`, the number of items, or `names`, a list of them")
        if self.names is not None:
            require_distinct(self.names, "names of items", "names")
        return self

    @cached_property
    def _positions(self) -> dict[str, int] | None:
        return None if self.names is None else {name: position for position, name in enumerate(self.names)}

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.names) if self.names is not None else self.size or 0

    def name(self, item: int) -> str:
        """What an item is called."""
        return str(item) if self.names is None else self.names[item]

    def number(self, name: str) -> int:
        """The item that is called so.

        Raises:
            DataError: there is none. The message never repeats the name, which a user may hold.
        """
        if self._positions is not None:
            if name in self._positions:
                return self._positions[name]
            raise DataError("an item of the set is not among the collection's items")
        # No other text means the same item: "007" would make two names of one.
        short = len(name) <= len(str(self.count))
        if short and name.isascii() and name.isdigit() and int(name) < self.count and name == str(int(name)):
            return int(name)
        raise DataError(f"an item of the set is not a whole number from 0 to {self.count - 1}")


class MethodSpec(Part):
    """A heavy-hitter method as written; see `stream_ldp.sets.methods.methods` for what each part means.

    A part that is not given is the method's own.
    """

    kind: Literal["gfim", "gfim-users", "ldpminer", "svim"]
    epsilon: float
    k: int
    k_max: int | None = None
    set_size: int | None = None
    split: tuple[float, ...] | None = None
    finalists: int | None = None
    combine: Literal["paper", "variance"] | None = None
    hash_bits: int | None = None

    @field_validator("k", "k_max", "set_size", "finalists", "hash_bits", mode="before")
    @classmethod
    def _is_whole(cls, value: object) -> object:
        if isinstance(value, str) and not value.lstrip("-").isdigit():
            raise ParameterError(f"{value!r} is not a whole number")
        return value

    def of(self, *, domain: int) -> Method:
        """The method over so many items.

        Raises:
            ParameterError: a part is out of its range, missing, or not one of this kind's.
        """
        given = self.model_dump(exclude={"kind"}, exclude_none=True)
        return method(self.kind, domain=domain, **given)


def phase_name(number: int) -> str:
    """What a phase is called in answers, statistics and keys."""
    return f"phase-{number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSeries:
    """The windows of one phase; see `stream_ldp.collection.Series`."""

    number: int
    size_ms: int
    every_ms: int

    @property
    def name(self) -> str:
        """Of the phase."""
        return phase_name(self.number)

    @property
    def of(self) -> tuple[str, ...]:
        """Names the statistic of phase 1; that of a later one is named by what was asked besides."""
        return (self.name,)

    def follows(self, window_ms: int) -> tuple[str, int | None]:
        """The same epoch's phase before, a window earlier."""
        return phase_name(self.number - 1), window_ms - self.size_ms


class ItemCollection(Collection):
    """What a collection file says of item sets.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    method_spec: MethodSpec = Field(alias="mechanism")
    items: Items
    epochs: Epochs = Epochs.SEQUENTIAL
    every_ms: PositiveDuration = Field(alias="every", default=2_000)

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        try:
            _ = self.method
        except ParameterError as error:
            raise Misplaced(str(error), "mechanism") from error
        window = self.window
        if window.hop_ms not in (None, window.size_ms):
            raise Misplaced("a phase takes a whole window: leave hop out", "window", "hop")
        if window.memory is not None:
            raise Misplaced("every epoch asks anew: leave memory out", "window", "memory")
        if window.idle_timeout_ms is None:
            raise Misplaced(
                "clients are silent until they know what the next phase asks, so its window would never begin: "
                "give a duration",
                "window",
                "idle_timeout",
            )
        known_ms = window.idle_timeout_ms + window.grace_ms
        if known_ms >= window.size_ms:
            raise Misplaced(
                f"what a phase asks is known idle_timeout + grace, {known_ms} ms, after the one before has ended, or "
                f"later, which is not within its window: make size, {window.size_ms} ms, several times that",
                "window",
                "size",
            )
        return self

    @cached_property
    def method(self) -> Method:
        """The method, which perturbs, counts and solves."""
        return self.method_spec.of(domain=self.items.count)

    @cached_property
    def schedule(self) -> Schedule:
        """Which phase of which epoch is asked in which window."""
        return Schedule(size_ms=self.window.size_ms, phases=len(self.method.phases), epochs=self.epochs)

    @property
    def series(self) -> tuple[PhaseSeries, ...]:
        """The phases."""
        return tuple(
            PhaseSeries(number=phase.number, size_ms=self.window.size_ms, every_ms=self.every_ms)
            for phase in self.method.phases
        )

    @property
    def _meaning(self) -> list[Any]:
        """[name, kind, phases, l, hash_bits or null, number of items or [name, ...], window size in ms, epochs].

        A phase is [what is asked, beginning and end of its share, epsilon]. Window size and epochs belong to it,
        since an event time tells which phase of which epoch is answered; k and the numbers of candidates do not:
        what they change is told by the rounds.
        """
        return [
            self.name,
            self.method_spec.kind,
            [[phase.asked.value, *phase.share, phase.epsilon] for phase in self.method.phases],
            self.method.first().padding,
            self.method_spec.hash_bits,
            self.items.size if self.items.names is None else list(self.items.names),
            self.window.size_ms,
            self.epochs.value,
        ]

    def encode(self, items: Iterable[str]) -> list[int]:
        """The distinct items of a set, ascending.

        Raises:
            DataError: an item is not one of the collection's. The message never repeats it.
        """
        return sorted({self.items.number(name) for name in items})
