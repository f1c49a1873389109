"""What an audit of a client has found of one promise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The outcome of one test.

    promise: what a client has to keep, in words.
    chance: the most by which an honest client may fail, over the test's randomness; 0 for a test that is exact.
    problem: how it is broken; None if it holds.
    """

    promise: str
    chance: float
    problem: str | None


def finding(promise: str, problems: Iterable[str], *, chance: float = 0.0) -> Finding:
    """Return the finding with the first of the problems, or none."""
    return Finding(promise=promise, chance=chance, problem=next(islice(problems, 1), None))
