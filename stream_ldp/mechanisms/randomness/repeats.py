"""Repeats of an evaluation: the users who take part in each, and the seed of their noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Repeat", "each_repeat"]


class Repeat(NamedTuple):
    """One repeat of an evaluation on a known population.

    users: rows of the population, int64, shape (users,).
    noise: seed of all randomness but their choice.
    """

    users: NDArray[np.int64]
    noise: np.random.SeedSequence


def each_repeat(repeats: int, *, rows: int, users: int, seed: int) -> Iterator[Repeat]:
    """Draw the users of each repeat, with replacement only if the population has fewer rows; the seed determines all.

    rows: size of the population.

    Raises:
        ParameterError: there is nobody in the population.
    """
    if not rows:
        raise ParameterError("the population to evaluate on has no rows")
    for repeat in np.random.SeedSequence(seed).spawn(repeats):
        sampling, noise = repeat.spawn(2)
        yield Repeat(np.random.default_rng(sampling).choice(rows, users, replace=users > rows), noise)
