"""A method that asks some of the users as another method does, and passes on what is the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.phases import Method

if TYPE_CHECKING:
    from stream_ldp.mechanisms import LolohaResponse
    from stream_ldp.sets.phases import Phase

Inner = TypeVar("Inner", bound=Method)


@dataclass(frozen=True)
class Wrapped(Generic[Inner]):
    """The base of methods that ask some of the users as another one does.

    method: the other method.
    """

    method: Inner

    @property
    def name(self) -> str:
        """The kind of the method."""
        return self.method.name

    @property
    def domain(self) -> int:
        """The number of items."""
        return self.method.domain

    @property
    def k(self) -> int:
        """The number of heavy hitters that are wanted."""
        return self.method.k

    @property
    def memoising(self) -> LolohaResponse | None:
        """That of the method."""
        return self.method.memoising

    def phases_within(self, begin: int, end: int) -> tuple[Phase, ...]:
        """Return the method's phases, which ask the users whose partition words are in [begin, end).

        Each bound of a share moves in proportion, and is rounded down.
        """

        def moved(word: int) -> int:
            return begin + word * (end - begin) // RESOLUTION

        return tuple(
            replace(phase, share=(moved(phase.share[0]), moved(phase.share[1]))) for phase in self.method.phases
        )
