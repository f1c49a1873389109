"""One trial of an evaluation, and what a kind of collection measures in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

CollectionT = TypeVar("CollectionT")


class Measured(NamedTuple):
    """The answer of one series, compared with the truth of the users who reported.

    metrics: by name; those whose name begins with rmse are averaged as squares. A word is one that the answer states.
    seconds: that the answer took.
    """

    series: str
    metrics: Mapping[str, float | str]
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Trial(Generic[CollectionT]):
    """Users who are drawn from a known population, and the randomness of all that they do.

    people: the users drawn, in the form in which the collection encodes them.
    population: those from whom they are drawn.
    apart: users of the same table from whom nobody is drawn.
    sampling, noise: seeds of the choice of users, and of their noise.
    drawing: a seed of what is drawn from answers.
    clock: returns seconds, from any origin.
    """

    collection: CollectionT
    people: Any
    population: Any
    apart: Any
    sampling: np.random.SeedSequence
    noise: np.random.SeedSequence
    drawing: int
    clock: Callable[[], float]


#: Lets the users of a trial report, solves, and compares each answer with their truth.
Measure = Callable[[Trial[Any]], Iterator[Measured]]


class KnownTable(Protocol):
    """The table of a known population, before any collection encodes it."""

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def item_sets(self) -> Sequence[Sequence[str]]: ...

    def values(self, name: str) -> list[str]:
        """Return the values of a column that occur, in their order; an empty text for what is missing."""
        ...


class Metric(NamedTuple):
    """What a plan needs of a metric that it predicts.

    words: what it is.
    falls: a, where the error falls as N^-a with the number of users N while the noise of reports dominates; below 0
        if it rises, None if no such power is known.
    best: its value where nothing is missed: 0 of an error.
    by: what is measured in place of it where a series has that: its expectation by a formula that holds for any
        users, which needs no repeats.
    needs_table: whether it depends so much on what users hold that it is not predicted of assumed ones.
    """

    words: str
    falls: float | None = 0.5
    best: float = 0.0
    by: str = ""
    needs_table: bool = False


def quality(words: str) -> Metric:
    """Describe a metric that is 1 where nothing is missed."""
    return Metric(words, falls=None, best=1.0)


class Assumed(NamedTuple):
    """The users whom a plan assumes where no table is known.

    collection: with one series of each kind of those with equal errors.
    like: by its name, the series of the planned collection that it stands for.
    population: the users, as many as may be drawn.
    """

    collection: Any
    like: Mapping[str, Sequence[str]]
    population: Any


def once(collection: Any) -> tuple[Any, float]:
    """Return the collection with one report for each user."""
    return collection, 1.0


def of_rows(population: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Select users of a table, one a row."""
    return population[rows]


def complete_nothing(document: dict[str, Any], table: KnownTable) -> None:
    """Leave a document as it is."""


def predict_nothing(document: dict[str, Any], label: str) -> None:
    """Leave a document as it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """How collections of a kind are evaluated.

    measure: see `Measure`.
    complete: fills in what a document leaves to the table, such as the values of an attribute.
    item_sets: whether a user's line of the table is a set of items, and no record.
    taken: selects users of a population by their numbers.
    windows: measures users who report in one window after another, given `windows`, `returning` and `drift`; None if
        windows are not compared.
    asked: lets the users of a trial report, and returns a function that asks about a series, or about the marginals
        of synthetic records; None if there are none.
    predicting: fills in what a document leaves to the attribute that is predicted from synthetic records.
    predicts: the metrics that plans predict, by their names; the first that a series has is the one for which a
        number of users is searched for.
    once: makes a collection whose users all report once, and says how many reports of the given one say as much as
        one of theirs.
    assumed: draws the users whom plans assume, or returns None where they cannot be solved for; None where plans have
        formulas that hold whatever users hold.
    assumes: who these users are, in words.
    """

    measure: Measure
    complete: Callable[[dict[str, Any], KnownTable], None] = complete_nothing
    item_sets: bool = False
    taken: Callable[[Any, NDArray[np.int64]], Any] = of_rows
    windows: Callable[..., Iterator[Measured]] | None = None
    asked: Callable[[Trial[Any]], Callable[[Any], Any]] | None = None
    predicting: Callable[[dict[str, Any], str], None] = predict_nothing
    predicts: Mapping[str, Metric]
    once: Callable[[Any], tuple[Any, float]] = once
    assumed: Callable[[Any], Assumed | None] | None = None
    assumes: str = ""


def first_metric(evaluation: Evaluation, metrics: Iterable[str]) -> str | None:
    """Return the metric of a series for which a number of users is searched for; None if it has none."""
    return next((name for name in evaluation.predicts if name in metrics), None)
