"""The interface of frequency oracles, the mechanisms for one value out of many, and what they have in common.

A report supports some values of the domain: the value it was made from with probability p, any other with q. An
estimate needs no more than p and q (a pure protocol; Wang, Blocki, Li and Jha, 2017, section 3).
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from stream_ldp.mechanisms.packing import bit_sums, bits_at
from stream_ldp.mechanisms.randomizer import OutputDistribution, Randomizer, ValueRandomizer
from stream_ldp.mechanisms.support import leverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms.randomness.entropy import Entropy


class BucketOracle(Randomizer):
    """A randomizer whose reports each support some of `size` values, or of the buckets that values are hashed to.

    size: number of them.
    """

    __slots__ = ()

    size: int

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Probabilities (p, q), as realised, that a report supports what it was made from, and anything else."""

    @abstractmethod
    def supports(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        """Return the number of reports that support each value, float64, shape (size,)."""

    def estimate(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        """See `ValueRandomizer.estimate`; of buckets, the share of the reports that were made from each.

        It is (C / n - q) / (p - q) for C supports among n reports (Wang et al., 2017, eq. 2), and 0 without reports.
        """
        p, q = self.support
        if not reports:
            return np.zeros(self.size)
        return (self.supports(sums, reports=reports) / reports - q) / (p - q)


class BitOracle(BucketOracle):
    """One whose reports have a bit for each value; a report supports those whose bits are 1."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return self.size

    @property
    def counters(self) -> int:
        """Number of counters: one for each bit."""
        return self.size

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Count the reports in which each bit is 1, shape (size,)."""
        to += bit_sums(rows, self.size)

    def supports(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:  # noqa: ARG002
        return sums.astype(np.float64)

    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """See `FrequencyOracle.supported`."""
        return bits_at(rows, values, self.size)


class CohortOracle(BucketOracle):
    """A randomizer of the values of one cohort out of several, or of none of them.

    cohorts: their number.
    """

    __slots__ = ()

    cohorts: int

    @abstractmethod
    def input_of(self, value: int, *, cohort: int) -> int:
        """Return what is perturbed of a value by users of a cohort: `size` if it is of another one."""


class FrequencyOracle(BucketOracle, ValueRandomizer):
    """A mechanism that perturbs one of `size` values, or one of the dummies that come after them.

    Users with a set of values report through an oracle too. Most oracles pad the set with dummies to l slots and
    perturb the value of one slot that is drawn; some perturb the whole set.

    named: its names in a collection file; none where only a method uses it.
    size: number of values that are estimated, 0 to size - 1. Larger values are dummies.
    """

    __slots__ = ()

    named: ClassVar[tuple[str, ...]] = ()
    size: int

    @classmethod
    def forms(cls, size: int, *, epsilon: float) -> Iterable[Self]:
        """Return the forms that its name in a file may stand for; the one with the least mean variance is used.

        epsilon: of a report, in nats.

        Raises:
            ParameterError: it is not for so many values, or the epsilon is beyond the resolution.
        """
        return [cls(size=size, epsilon=epsilon)]  # type: ignore[call-arg]  # oracles with other parameters override it

    def noise(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `ValueRandomizer.noise`.

        It is [f p (1 - p) + (1 - f) q (1 - q)] / (p - q)^2 for a frequency f (Wang, Blocki, Li and Jha, 2017, eq. 1).
        """
        p, q = self.support
        return (frequencies * p * (1 - p) + (1 - frequencies) * q * (1 - q)) / (p - q) ** 2

    def standard_errors(self, frequencies: NDArray[np.float64], *, reports: float) -> NDArray[np.float64]:
        """See `ValueRandomizer.standard_errors`; infinite without reports."""
        p, q = self.support
        if not reports:
            return np.full(len(frequencies), np.inf)
        supported = np.clip(frequencies, 0.0, 1.0) * (p - q) + q
        return np.sqrt(supported * (1.0 - supported) / reports) / (p - q)

    @property
    def leverage(self) -> float:
        """See `ValueRandomizer.leverage`: that of its support."""
        return leverage(*self.support)

    @property
    def mean_variance(self) -> float:
        """See `ValueRandomizer.mean_variance`: all values have the same."""
        return float(self.noise(np.array(1 / self.size)))

    @property
    def mean_error(self) -> float:
        p, q = self.support
        supported = q + (p - q) / self.size
        return supported * (1 - supported) / (p - q) ** 2

    @classmethod
    def for_value(cls, size: int, *, epsilon: float) -> Iterable[Self]:  # noqa: ARG003  for oracles that override it
        """Return the oracles of this kind that may be the best for users with one of `size` values; none by default.

        epsilon: of a report, in nats.
        """
        return ()

    @classmethod
    def for_set(cls, size: int, *, padding: int, epsilon: float) -> Iterable[Self]:  # noqa: ARG003  as above
        """Return the oracles of this kind that may be the best for sets of about `padding` values; none by default.

        padding: most values of a set that count; a set may have a few more.
        epsilon: of a report, for any two sets, in nats.
        """
        return ()

    @abstractmethod
    def supported(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Decide whether each row supports each value, bool, shape (n, values)."""

    @abstractmethod
    def resized(self, size: int, *, padding: int, epsilon: float) -> Self:
        """Return a small oracle of this kind, for sets of at most about `padding` of `size` values.

        epsilon: of a report, for any two sets, in nats.
        """

    def codes(self, rows: NDArray[np.uint8], values: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return what each row would have to send in order to support each value, int64, shape (n, values).

        It is the value itself, unless values share a code, as a hash, that depends on what else the row says.
        """
        return np.broadcast_to(np.asarray(values, dtype=np.int64), (len(rows), len(values)))

    @property
    def public_draws(self) -> int | None:
        """Number of decisions that a report takes first, whatever it is made from: one for each row of a hash.

        None where it takes a decision for each value.
        """
        return 0

    @property
    def inputs(self) -> int:
        """Number of inputs with different output distributions: the values and one dummy, where dummies are alike."""
        return self.size + 1

    def perturb_sets(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Make one report for each of many users with sets: packed rows, uint8, shape (n, ceil(bits / 8)).

        offsets: user i holds values[offsets[i]:offsets[i + 1]], int64, shape (n + 1,).
        values: 0 to size - 1, distinct for each user, int64, shape (offsets[n],).
        padding: l, number of slots that a set is padded to.
        """
        return self.perturb(self.sampled(offsets, values, padding=padding, entropy=entropy), entropy=entropy)

    def sampled(
        self, offsets: NDArray[np.int64], values: NDArray[np.int64], *, padding: int, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Draw one value of each user's set, or a dummy, int64, shape (n,); arguments as in `perturb_sets`.

        A set with fewer than l values is padded with dummies to l, and one of its slots is drawn. A larger set is not
        cut, so that every value of any set is drawn with probability at most 1 / l (Wang, Li and Jha, 2018, section
        IV-A).
        """
        held = np.diff(offsets)
        slots = entropy.integers(np.maximum(held, padding))
        drawn = self.size + slots - held  # right for dummies; below `size` where a real value was drawn
        real = slots < held
        drawn[real] = values[(offsets[:-1] + slots)[real]]
        return drawn

    def stated_sets(self, sets: Sequence[Sequence[int]], *, padding: int) -> OutputDistribution:
        """Return the exact output distribution of `perturb_sets` for these sets, as the parameters state it."""
        stated = self.stated()
        rows = []
        for held in sets:
            slots = max(padding, len(held))
            # An oracle that does not distinguish dummies has one input for all of them.
            inputs = [*held, *(min(self.size + dummy, len(stated) - 1) for dummy in range(slots - len(held)))]
            rows.append(stated[inputs].sum(axis=0) / Fraction(slots))
        return np.array(rows, dtype=object)

    def scale(self, *, padding: int) -> int:
        """Return the factor that turns `estimate` of reports into those of the sets that the users hold.

        `estimate` estimates the share of the reports that were made from a value. If one of l slots is drawn, a set
        reports a value that it holds with probability 1 / l. So the share of the sets with the value is l times as
        large. If a report is made of the whole set, the factor is 1.

        padding: l, number of slots that a set is padded to.
        """
        return padding

    def shown(self, sizes: NDArray[np.float64], *, padding: int) -> NDArray[np.float64]:
        """Compute how much reports show of an item in sets of these sizes, as a share of that in small sets.

        One slot of l is an item of a set of s items with probability 1 / max(l, s).

        sizes: numbers of items of sets that hold the item, at least 1, any shape.
        padding: l.
        """
        return np.minimum(1.0, padding / sizes)

    def set_epsilon(self, *, padding: int) -> float:
        """Return the privacy loss in nats of one report, for any two sets padded to `padding` slots."""
        del padding
        return self.epsilon

    def neutral_sums(self, reports: int) -> NDArray[np.int64]:
        """Return sums that give every value the frequency 0, int64, shape (counters,)."""
        _, by_chance = self.support
        return np.full(self.counters, round(reports * by_chance), dtype=np.int64)


def oracle_of(randomizer: Randomizer) -> FrequencyOracle | None:
    """Return a randomizer as an oracle, which takes sets as well; None if its reports support no values."""
    return randomizer if isinstance(randomizer, FrequencyOracle) else None
