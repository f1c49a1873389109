"""A paper: its figures, what it claims, and its slips."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tests.benchmarks.papers.figure import Figure, Results
from tests.benchmarks.papers.study import Row

#: The parts of the points at which a comparison is right, from which on it holds, and below which it does not.
HOLDS, HOLDS_NOT = 0.9, 0.25


class Measurable(Protocol):
    """What figures are made of; see `Study`."""

    @property
    def name(self) -> str: ...

    def missing(self, directory: Path) -> str | None:
        """Say why it cannot be measured with the data of a directory; None if it can."""
        ...

    def rows(self, directory: Path, *, repeats: int | None = None) -> list[Row]:
        """Measure it."""
        ...


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    DOES_NOT = "does not hold"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a paper that compares or promises.

    says: the sentence, in English.
    place: its section in the paper.
    figure: the figure that shows it, or the page or the test.
    judged: the verdict; or counts at how many points the comparison is right, and of how many, from which it follows.
    why: in a sentence.
    """

    says: str
    place: str
    figure: str
    judged: Verdict | Callable[[Results], tuple[int, int]]
    why: str

    def verdict(self, results: Results) -> tuple[Verdict, str]:
        """Return the verdict, and the count that it rests on, if there is one."""
        if isinstance(self.judged, Verdict):
            return self.judged, ""
        right, of = self.judged(results)
        if not of:
            raise ValueError(f"nothing was measured of: {self.says}")
        share = right / of
        verdict = Verdict.HOLDS if share >= HOLDS else Verdict.DOES_NOT if share < HOLDS_NOT else Verdict.IN_PART
        return verdict, f"{right} of {of} points"


@dataclass(frozen=True, kw_only=True)
class Slip:
    """A formula or a sentence of a paper that must not be followed.

    place: its number or section in the paper.
    printed: what stands there.
    right: what is meant, or true.
    test: FILE::NAME of the test that shows it, below tests/.
    """

    place: str
    printed: str
    right: str
    test: str


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper.

    key: with which the names of its figures begin.
    cited: authors, title and place.
    about: what of it is in the product, in a sentence.
    """

    key: str
    name: str
    cited: str
    about: str
    studies: Sequence[Measurable]
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    slips: Sequence[Slip]
