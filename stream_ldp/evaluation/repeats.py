"""Repeats of an evaluation: the users who take part in each, and the seeds of all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError


class Repeat(NamedTuple):
    """One repeat of an evaluation on a known population.

    users: rows of the population, int64, shape (users,).
    others: rows from which they are drawn, int64.
    apart: the remaining rows, int64.
    sampling, noise: seeds of the choice of users, and of their noise.
    drawing: a seed of what is drawn from answers.
    """

    users: NDArray[np.int64]
    others: NDArray[np.int64]
    apart: NDArray[np.int64]
    sampling: np.random.SeedSequence
    noise: np.random.SeedSequence
    drawing: int


def each_repeat(repeats: int, *, rows: int, users: int, seed: int, apart: float = 0.0) -> Iterator[Repeat]:
    """Draw the users of each repeat, with replacement only if the population has fewer rows; the seed determines all.

    rows: size of the population.
    apart: share of the rows, other ones in each repeat, from which nobody is drawn; if it is not 0, one row at least.

    Raises:
        ParameterError: there is nobody in the population, or nobody beside those apart.
    """
    if not rows:
        raise ParameterError("the population to evaluate on has no rows")
    kept = max(1, round(apart * rows)) if apart else 0
    if kept == rows:
        raise ParameterError("answers are compared with users who are kept apart: give a table of 2 rows or more")
    for repeat in np.random.SeedSequence(seed).spawn(repeats):
        sampling, noise, drawing = repeat.spawn(3)
        generator = np.random.default_rng(sampling)
        order = generator.permutation(rows) if kept else np.arange(rows)
        others = order[kept:]
        yield Repeat(
            users=others[generator.choice(len(others), users, replace=users > len(others))],
            others=others,
            apart=order[:kept],
            sampling=sampling,
            noise=noise,
            drawing=int(drawing.generate_state(1)[0]),
        )
