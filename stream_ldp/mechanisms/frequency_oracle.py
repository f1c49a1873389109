"""What every mechanism for one value out of many answers, and what all of them have in common.

A report supports some values of the domain: the one it was made from with probability p, any other with q. That is
all that an estimate needs (a pure protocol; Wang, Blocki, Li and Jha, 2017, section 3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from stream_ldp.mechanisms.plausibility import UNTESTED, Plausibility

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.entropy import Entropy

__all__ = [
    "FrequencyOracle",
    "OutputDistribution",
    "checked_values",
    "frequencies",
    "no_outputs",
    "standard_errors",
]

#: P(report | input), fractions, shape (inputs, 2^bits); a report is the number whose bits, the least significant
#: first, are the packed row.
OutputDistribution = np.ndarray[tuple[int, int], np.dtype[np.object_]]


class FrequencyOracle(ABC):
    """Perturbs one of `size` values, or one of the dummies that come after them.

    Users with a set of values report through it too: most oracles perturb one value of the set, padded with dummies
    to l slots of which one is drawn; some take the whole set.

    kind, example: how it is written in one word, such as `hadamard:size=8,epsilon=1`.
    size: number of values that are estimated: 0 to size - 1. What is not below is a dummy.
    epsilon: privacy loss in nats of one report, of any two inputs, as realised; never rounded down.
    """

    __slots__ = ()

    kind: ClassVar[str]
    example: ClassVar[str]
    size: int
    epsilon: float

    @property
    @abstractmethod
    def title(self) -> str:
        """What a plan calls it."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits of a report."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """Length of the vector that reports are counted in."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """(p, q), as realised: chance that a report supports the value it was made from, and any other value."""

    @classmethod
    @abstractmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """The forms of this oracle that may be the best one for a user with one of `size` values.

        epsilon: of a report, nats.
        """

    @classmethod
    @abstractmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:
        """The forms of this oracle that may be the best one for a user with a set of at most about `padding` values.

        epsilon: of a report, of any two sets, nats.
        """

    @abstractmethod
    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """One report of each of many users, packed rows, uint8, shape (n, ceil(bits / 8)), unused bits 0.

        values: shape (n,).

        Raises:
            ValueError: a value is negative or beyond the dummies.
        """

    @abstractmethod
    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows are reports that `perturb` can make, bool, shape (n,)."""

    @abstractmethod
    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The counts of valid rows, int64, shape (counters,); those of several batches add up."""

    @abstractmethod
    def supports(self, sums: NDArray[np.int64], *, reports: int) -> NDArray[np.float64]:
        """Number of reports that support each value, float64, shape (size,)."""

    @abstractmethod
    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each row supports each value, bool, shape (n, values)."""

    @abstractmethod
    def stated(self) -> OutputDistribution:
        """The exact output distribution of `perturb` for each of the `inputs`, as the parameters state it."""

    @abstractmethod
    def small(self) -> Self:
        """The next smaller oracle of this kind and epsilon; repeated, it becomes small enough to be enumerated."""

    @abstractmethod
    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:
        """A small oracle of this kind, for sets of at most about `padding` of `size` values.

        epsilon: of a report, of any two sets, nats.
        """

    @property
    def inputs(self) -> int:
        """Number of inputs that can be told apart: the values and one dummy, where all dummies are alike."""
        return self.size + 1

    @property
    def set_slots(self) -> int | None:
        """Number of values of a set that its report treats alike, where it is made of the whole set.

        None where it is made of one value of the set.
        """
        return None

    def perturb_sets(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """One report of each of many users with sets, packed rows, uint8, shape (n, ceil(bits / 8)).

        offsets: user i holds values[offsets[i]:offsets[i + 1]], int64, shape (n + 1,).
        values: distinct ones of 0 to size - 1 for each user, int64, shape (offsets[n],).
        padding: l, number of slots that a set is padded to.
        """
        return self.perturb(self.sampled(offsets, values, padding=padding, entropy=entropy), entropy=entropy)

    def sampled(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        """One value of each user's set, or a dummy, int64, shape (n,); arguments as in `perturb_sets`.

        A set with fewer than l values is padded with dummies to l, and one of its slots is drawn. A set with more is
        not cut, so that any value is drawn with probability at most 1 / l, whoever holds it (Wang, Li and Jha, 2018,
        section IV-A).
        """
        held = np.diff(offsets)
        slots = entropy.integers(np.maximum(held, padding))
        drawn = self.size + slots - held  # a dummy's, and below `size` where a value was drawn
        real = slots < held
        drawn[real] = values[(offsets[:-1] + slots)[real]]
        return drawn

    def stated_sets(self, sets: Sequence[Sequence[int]], *, padding: int) -> OutputDistribution:
        """The exact output distribution of `perturb_sets` for each of these sets, as the parameters state it."""
        stated = self.stated()
        rows = []
        for held in sets:
            slots = max(padding, len(held))
            # All dummies are one to an oracle that does not tell them apart.
            inputs = [*held, *(min(self.size + dummy, len(stated) - 1) for dummy in range(slots - len(held)))]
            rows.append(stated[inputs].sum(axis=0) / Fraction(slots))
        return np.array(rows, dtype=object)

    def told(self, *, padding: int) -> int:
        """Part of the users who hold a value, over what `frequencies` of their sets' reports estimates.

        It is l where one of l slots is told, and 1 where the whole set is.
        """
        return padding

    def set_epsilon(self, *, padding: int) -> float:
        """Privacy loss in nats of one report, of any two sets."""
        del padding
        return self.epsilon

    def neutral_sums(self, reports: int) -> NDArray[np.int64]:
        """Sums by which every value has the frequency 0, int64, shape (counters,)."""
        _, by_chance = self.support
        return np.full(self.counters, round(reports * by_chance), dtype=np.int64)

    def plausibility(self, sums: NDArray[np.int64]) -> Plausibility:
        """Whether reports of these sums look as honest ones do, whatever the users' values are.

        Untested, unless the oracle has something in its reports that no user's data can change.
        """
        del sums
        return UNTESTED

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which batches no honest client sends, bool, shape (batches,); none, unless reports can be tested.

        rows: packed reports of all batches one after another; counts: reports of each batch.
        """
        del rows
        return np.zeros(len(counts), dtype=np.bool_)


def no_outputs(inputs: int, bits: int) -> OutputDistribution:
    """An output distribution to be filled in, 0 everywhere, shape (inputs, 2^bits)."""
    return np.full((inputs, 2**bits), Fraction(0), dtype=object)


def frequencies(oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int) -> NDArray[np.float64]:
    """Unbiased estimate of the part of the reports made from each value, float64, shape (size,).

    (C / n - q) / (p - q) for C supports among n reports (Wang et al., 2017, eq. 2); 0 where there are none.
    """
    p, q = oracle.support
    if not reports:
        return np.zeros(oracle.size)
    return (oracle.supports(sums, reports=reports) / reports - q) / (p - q)


def standard_errors(oracle: FrequencyOracle, frequency: NDArray[np.float64], *, reports: int) -> NDArray[np.float64]:
    """Standard error of `frequencies`, for true values as estimated; infinite where there are no reports."""
    p, q = oracle.support
    if not reports:
        return np.full(len(frequency), np.inf)
    supported = np.clip(frequency, 0.0, 1.0) * (p - q) + q
    return np.sqrt(supported * (1.0 - supported) / reports) / (p - q)


def checked_values(values: NDArray[np.integer], *, choices: int | None = None) -> NDArray[np.int64]:
    """The values as int64.

    choices: number of values and dummies; None: every value beyond the domain is a dummy.

    Raises:
        ValueError: they are not integers of shape (n,), or one is negative or not among the choices.
    """
    given = np.asarray(values)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"values must be integers of shape (n,), got {given.dtype} of shape {given.shape}")
    # The value itself stays out of the message: it is what the mechanism protects.
    if np.any(given < 0):
        raise ValueError("a value is negative; they count from 0")
    if choices is not None and np.any(given >= choices):
        raise ValueError(f"a value is beyond the {choices} values and dummies, 0 to {choices - 1}")
    return given.astype(np.int64)
