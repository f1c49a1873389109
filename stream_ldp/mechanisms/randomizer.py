"""The interface of local randomizers, which perturb one of a few inputs, and what their audits need of them.

A local randomizer turns one input into one report on the user's side. A frequency oracle is one whose reports support
values; others, such as the response to a number, are decoded in their own way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from stream_ldp.collection import Part
from stream_ldp.mechanisms.packing import count, unpack, unused_clear
from stream_ldp.mechanisms.plausibility import UNTESTED, PlausibilityTest
from stream_ldp.mechanisms.privacy_loss import round_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms.blanket import Blanket
    from stream_ldp.mechanisms.randomness.entropy import Entropy

#: P(report | input), fractions, shape (inputs, 2^bits); a report is the number whose bits, the least significant
#: first, are the packed row.
OutputDistribution = np.ndarray[tuple[int, int], np.dtype[np.object_]]


class AnswerCost(Part):
    """The privacy loss of one user's permanent answers to a question, as a ledger keeps it.

    epsilon: of one answer, in nats.
    """

    is_concave: ClassVar[bool] = True

    kind: Literal["sampled"] = "sampled"
    epsilon: float = Field(gt=0, allow_inf_nan=False)

    def responses_loss(self, *, responses: int, reports: float) -> float:  # noqa: ARG002
        """See `MechanismSpec.responses_loss`: an answer that is repeated reveals nothing more."""
        return round_up(responses * Fraction(self.epsilon))


class Randomizer(ABC):
    """A mechanism that perturbs one of `inputs` inputs, numbered from 0.

    kind, example: the parts of its notation in one word, such as `hadamard:size=8,epsilon=1`.
    input_name: what an input is, in a word.
    epsilon: privacy loss in nats of one report, for any two inputs, as realised; never rounded down.
    """

    __slots__ = ()

    kind: ClassVar[str]
    example: ClassVar[str]
    input_name: ClassVar[str] = "value"
    epsilon: float

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the randomizer in plans."""

    @property
    @abstractmethod
    def parameters(self) -> list[int]:
        """All that the meaning of a report depends on beside the kind; chances are in units of 2^-32."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Number of inputs with different output distributions."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits of a report."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """Length of the vector that reports are counted in."""

    @abstractmethod
    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        """Make one report for each of many users: packed rows, uint8, shape (n, ceil(bits / 8)), unused bits 0.

        values: the users' inputs, shape (n,).

        Raises:
            ValueError: an input is negative or too large.
        """

    @abstractmethod
    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports that `perturb` can make, bool, shape (n,)."""

    @abstractmethod
    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Add what valid rows count to sums, int64, shape (counters,), in a time that few rows keep short."""

    def sums(self, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Count valid rows, int64, shape (counters,); the sums of several batches add up."""
        sums = np.zeros(self.counters, dtype=np.int64)
        self.add(rows, to=sums)
        return sums

    def possible(self, sums: NDArray[np.int64], *, reports: NDArray[np.int64]) -> bool:
        """Decide whether so many reports can have these sums: 0 or 1 of each in every counter, unless it says others.

        sums: shape (..., counters), of one or more sets of reports.
        reports: of each, shape (...).
        """
        return bool(((sums >= 0) & (sums <= reports[..., None])).all())

    @abstractmethod
    def stated(self) -> OutputDistribution:
        """Return the exact output distribution of `perturb` for each of the `inputs`, as the parameters state it."""

    @abstractmethod
    def small(self) -> Self:
        """Return a smaller one of this kind and epsilon; repeated calls make one small enough to be enumerated."""

    def loss(self, *, reports: float) -> float:
        """Return the privacy loss in nats of so many reports of what a user repeats; never rounded down.

        Where no formula says less, more than one are taken to lose all that any number of them can.
        """
        return self.epsilon if reports == 1 else self.memoised.epsilon

    @property
    def charged_by_report(self) -> bool:
        """Whether a ledger charges one report less than all that there can be: each has noise of its own."""
        return False

    @property
    def set_slots(self) -> int | None:
        """Number of values of a set that a report treats alike if it is made of the whole set.

        None if a report is made of one value of the set, or of a number.
        """
        return None

    @property
    def furthest(self) -> tuple[int, int]:
        """Two inputs between which one report may lose all of epsilon: the first and the last by default."""
        return 0, self.inputs - 1

    @property
    def cost(self) -> Part:
        """What answers cost a user, as the ledger keeps it: one of `ReportCost`."""
        return AnswerCost(epsilon=self.memoised.epsilon)

    @property
    def fixed_total(self) -> bool:
        """Whether estimated frequencies always sum to 1, since every report supports equally many values."""
        return False

    @property
    def chances_to_print(self) -> NDArray[np.float64] | None:
        """P(output | input), where no other parameters say it, so that a plan has to; None elsewhere."""
        return None

    @property
    def blanket(self) -> Blanket | None:
        """The blanket of a report of one value, for any two values; None where none is known."""
        return None

    @property
    def memoised(self) -> Randomizer:
        """The randomizer of what a user repeats; its epsilon is that of all reports of one input."""
        return self

    def instantaneous(self, rows: NDArray[np.uint8], *, entropy: Entropy) -> NDArray[np.uint8]:
        """Make reports of what users repeat, rows of `memoised`: the same, unless each has noise of its own."""
        del entropy
        return rows

    def draws(self, sums: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return how often each of what clients draw uniformly was drawn, whatever users hold; None without such."""
        del sums
        return None

    def set_bits(self) -> tuple[float, float, float] | None:
        """Return the least and the largest mean of the set bits of an honest report, and their largest variance.

        None where the sums are not those of independent bits.
        """
        return None

    def plausibility(self, sums: NDArray[np.int64]) -> PlausibilityTest:
        """Test whether reports of these sums look honest, whatever the users' inputs are.

        Reports stay untested unless they contain something that no user's data can change.
        """
        del sums
        return UNTESTED

    def implausible(self, rows: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Decide which batches no honest client sends, bool, shape (batches,); none unless reports can be tested.

        rows: packed reports of all batches, one after another.
        counts: number of reports of each batch, int64, shape (batches,).
        """
        del rows
        return np.zeros(len(counts), dtype=np.bool_)


class OutcomeRandomizer(Randomizer):
    """A randomizer whose reports each name one of `counters` outcomes."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Bits of a report: those of the number of an outcome."""
        return (self.counters - 1).bit_length()

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Randomizer.valid`: rows that name an outcome are."""
        (named,) = unpack(rows, [self.bits])
        return unused_clear(rows, self.bits) & (named < self.counters)

    def add(self, rows: NDArray[np.uint8], *, to: NDArray[np.int64]) -> None:
        """Count the reports that name each outcome, shape (counters,)."""
        (named,) = unpack(rows, [self.bits])
        count(named, to=to)


class ValueRandomizer(Randomizer):
    """A randomizer of one of a few values, whose frequencies are estimated from the sums of the reports."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        """Number of values whose distributions of reports are linearly independent."""
        return self.inputs

    @property
    def identifies(self) -> bool:
        """Whether the frequencies follow from the reports."""
        return True

    @abstractmethod
    def estimate(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        """Estimate the share of the reports that were made from each value, without bias, float64, shape (values,).

        Raises:
            ParameterError: the frequencies do not follow from the reports.
        """

    @abstractmethod
    def noise(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the noise in `estimate`, times the number of reports, of the shape of `frequencies`.

        The users and what they hold are given: it is without the sampling of users.

        frequencies: true shares of the users.
        """

    @abstractmethod
    def standard_errors(self, frequencies: NDArray[np.float64], *, reports: float) -> NDArray[np.float64]:
        """Return the standard errors of `estimate`, with the sampling of users, float64, shape (values,).

        frequencies: true shares of the users, or estimates that are taken for them.
        """

    @property
    @abstractmethod
    def leverage(self) -> float:
        """The most by which what one report adds to a frequency differs from what an honest one adds on average.

        It is the largest |c - t| of a report that adds c to n `estimate`, as crafted reports can, and t in [0, 1].
        """

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """The variance of an estimated frequency, times the number of reports, for a uniform population.

        It is the noise alone, mean over the values, without the sampling of users.
        """

    @property
    @abstractmethod
    def mean_error(self) -> float:
        """The same with the sampling of users; of the share of an output where no frequencies follow."""


def no_outputs(inputs: int, bits: int) -> OutputDistribution:
    """Return an output distribution to be filled in, 0 everywhere, shape (inputs, 2^bits)."""
    return np.full((inputs, 2**bits), Fraction(0), dtype=object)


def independent_bits(chances: Sequence[Sequence[Fraction]]) -> OutputDistribution:
    """Return the output distribution of reports whose bits are independent of each other.

    chances: P(bit is 1 | input), a row for each input.
    """
    outputs = no_outputs(len(chances), len(chances[0]))
    for value, report in np.ndindex(outputs.shape):
        outputs[value, report] = math.prod(
            (one if report >> place & 1 else 1 - one for place, one in enumerate(chances[value])), start=Fraction(1)
        )
    return outputs


def checked_values(values: NDArray[np.integer], *, choices: int | None = None) -> NDArray[np.int64]:
    """Return the values as int64.

    choices: number of values and dummies; None if every value beyond the domain is a dummy.

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
