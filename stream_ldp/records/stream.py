"""A known population that reports in one window after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import Entropy, Mechanism, SeededEntropy
from stream_ldp.mechanisms.mechanism import Symbols

#: Share of the records, by the value that drifts, from which the first window's users come, and the last one's.
_DRIFT_SHARE = 0.4


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Pane:
    """The users who report between two hops.

    rows: packed reports, uint8, shape (users, width).
    users: number of each one's user, uint64, shape (users,).
    people: their records, value indices, shape (users, attributes).
    """

    rows: NDArray[np.uint8]
    users: NDArray[np.uint64]
    people: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Stream:
    """A population that reports in one pane after another.

    Each pane's users are the returning ones, whose permanent responses last as long as their records, and new ones,
    drawn with replacement.

    population: value indices, shape (rows, attributes), each below its attribute's size.
    drift: a number for each row, shape (rows,). Over the panes the users move, one by one, from the two fifths of
        the rows with the lowest numbers to those with the highest. None for users of all rows in every pane.
    mechanism: the mechanism of exactly these attributes.
    users: number of users in each pane in turn, each with one report; from the first again after the last.
    panes: number of panes, at least 2.
    returning: share of the users who are there in every pane.
    turns: number of panes after which those who return come again, and other such users in each pane before.
    spans: numbers of those rows of the population of whom the new users of each pane are; None for all in each.
    """

    population: NDArray[np.int64]
    drift: NDArray[np.int64] | None
    mechanism: Mechanism
    users: Sequence[int]
    panes: int
    returning: float
    turns: int = 1
    spans: Sequence[NDArray[np.int64]] | None = None

    def draw(self, sampling: np.random.SeedSequence, noise: np.random.SeedSequence) -> Iterator[Pane]:
        """Draw the users of each pane, and their reports."""
        rng, entropy = np.random.default_rng(sampling), SeededEntropy(noise)
        first, last = self._ends(rng)
        mechanism, most = self.mechanism, round(self.returning * max(self.users))
        cohorts = [self._cohort(first, last, most, rng, entropy) for _ in range(self.turns)]
        next_user = most * self.turns
        for number, moved in enumerate(np.linspace(0.0, 1.0, self.panes)):
            count = self.users[number % len(self.users)]
            same = round(self.returning * count)
            new_users = count - same
            turn = number % self.turns
            before, after, responses, new_responses, moves_at = cohorts[turn]
            has_moved = (moves_at < moved)[:same, None]
            of_pane = None if self.spans is None else self.population[self.spans[number]].astype(np.intp)
            new = np.where(
                (rng.random(new_users) < moved)[:, None],
                rng.choice(last if of_pane is None else of_pane, new_users),
                rng.choice(first if of_pane is None else of_pane, new_users),
            )
            symbols: Symbols = np.concatenate(
                [np.where(has_moved, new_responses[:same], responses[:same]), mechanism.permanent(new, entropy)]
            )
            known = turn * most + np.arange(same)
            users = np.concatenate([known, np.arange(next_user, next_user + new_users)]).astype(np.uint64)
            next_user += new_users
            yield Pane(
                rows=mechanism.packed(mechanism.instantaneous(symbols, entropy)),
                users=users,
                people=np.concatenate([np.where(has_moved, after[:same], before[:same]), new]),
            )

    def _cohort(
        self,
        first: NDArray[np.intp],
        last: NDArray[np.intp],
        most: int,
        rng: np.random.Generator,
        entropy: Entropy,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Symbols, Symbols, NDArray[np.float64]]:
        """Draw users who return: records before and after a move, permanent responses to both, and the moment."""
        before, after = rng.choice(first, most), rng.choice(last, most)
        if self.drift is None:
            after = before
        responses = self.mechanism.permanent(before, entropy)
        # A record that changes draws new permanent noise; one that stays keeps its own.
        new_responses = responses if self.drift is None else self.mechanism.permanent(after, entropy)
        return before, after, responses, new_responses, rng.random(most)

    def _ends(self, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = self.population.astype(np.intp)
        if self.drift is None:
            return rows, rows
        # Rows with equal numbers come in random order: that of a file may have a meaning.
        order = np.lexsort([rng.random(len(rows)), self.drift])
        number = max(1, round(_DRIFT_SHARE * len(rows)))
        return rows[order[:number]], rows[order[-number:]]
