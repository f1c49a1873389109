"""A channel: an output for each input with the probabilities of a table, which need follow no rule.

A channel may lose epsilon if no output is more than e^epsilon times as likely for one input as for another. Of all
such channels, a linear programme finds the one of least distortion; the least epsilon is found by bisection (Xiong,
Sarwate and Mandayam, 2016). The distortion is the expected one of the input that has most of it, so that it holds
whatever the population is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from stream_ldp.collection import one_of
from stream_ldp.errors import ParameterError
from stream_ldp.extras import imported
from stream_ldp.mechanisms.oracle_spec import OracleSpec
from stream_ldp.mechanisms.packing import pack, unpack, unused_clear
from stream_ldp.mechanisms.privacy_loss import PRECISION, round_up
from stream_ldp.mechanisms.randomizer import (
    OutcomeRandomizer,
    OutputDistribution,
    ValueRandomizer,
    checked_values,
    no_outputs,
)
from stream_ldp.mechanisms.randomness.entropy import RESOLUTION, Entropy
from stream_ldp.mechanisms.simplex import on_simplex

#: Most inputs, and most outputs, of a table: it is part of the fingerprint, and an output is sent in one byte.
MAX_CHOICES = 2**8

#: The most by which the probabilities of a row may miss 1, as those with seven digits after the point do.
_SUM_TOLERANCE = 1e-6

#: Most values, and outputs, of a channel that is solved for: a programme has an unknown for each pair of both.
MAX_VALUES = 64

#: Epsilon is a multiple of 2^-20 before the table is rounded, far above the error of a programme's solution, so that
#: every solver finds the same. Above the largest one, e^-epsilon is near that error.
_STEPS_PER_NAT = 2**20
_MAX_EPSILON = 14

#: Probabilities below are taken for 0: the errors of a programme's solution.
_ZERO_PROBABILITY = 1e-7

#: A singular value below this share of the largest one counts as 0: a table in units of 2^-32 says no more.
_RANK_TOLERANCE = 1e-8


def exact_rows(rows: Sequence[Sequence[float]]) -> tuple[tuple[int, ...], ...]:
    """Round probabilities to multiples of 2^-32, in these units; what is over goes to the likeliest output of a row.

    rows: P(output | input), a row for each input; each sums to 1 within 10^-6.

    Raises:
        ParameterError: they are no probabilities, or the rows differ in length.
    """
    if len({len(row) for row in rows}) > 1:
        raise ParameterError("the rows of a channel differ in length: give each input all outputs")
    found = []
    for number, row in enumerate(rows):
        if not all(0 <= each <= 1 for each in row) or abs(math.fsum(row) - 1) > _SUM_TOLERANCE:
            raise ParameterError(f"row {number} of a channel has to hold probabilities that sum to 1")
        units = [round(each * RESOLUTION) for each in row]
        units[units.index(max(units))] += RESOLUTION - sum(units)
        found.append(tuple(units))
    return tuple(found)


def _read(table: Any) -> Any:
    """Read a table from its notation in one word, such as 0.75:0.25/0.25:0.75."""
    if not isinstance(table, str):
        return table
    try:
        return exact_rows([[float(each) for each in row.split(":")] for row in table.split("/")])
    except ValueError:
        raise ParameterError("a table has rows of numbers, such as 0.75:0.25/0.25:0.75") from None


@dataclass(frozen=True, kw_only=True)
class ChannelResponse(OutcomeRandomizer, ValueRandomizer):
    """A randomizer that sends one of m outputs, with the probabilities of a table for the user's input.

    Such a table is what randomised requantisation (Xiong, Sarwate and Mandayam, 2016) comes to: Compression in the
    survey of Ye et al. (2018). Where the rows are linearly independent, the frequencies of the inputs follow from
    those of the outputs. Otherwise several populations lead to the same outputs, and no estimate of frequencies is
    right for all of them. A report is the number of its output.

    table: P(output | input) in units of 2^-32, a row for each input.
    epsilon: in nats, as the table has it.

    Raises:
        ParameterError: there are fewer than two inputs or outputs, or too many, a row does not sum to 1, an output
            rules an input out, or no output says anything.
    """

    kind: ClassVar[str] = "channel"
    example: ClassVar[str] = "table=0.7:0.2:0.1/0.2:0.6:0.2/0.1:0.2:0.7"

    table: Annotated[tuple[tuple[int, ...], ...], BeforeValidator(_read)]
    epsilon: float = field(init=False)

    def __post_init__(self) -> None:
        if len({len(row) for row in self.table}) > 1:
            raise ParameterError("the rows of a channel differ in length: give each input all outputs")
        if not all(2 <= each <= MAX_CHOICES for each in (self.inputs, self.counters)):
            raise ParameterError(
                f"a channel has 2 to {MAX_CHOICES} inputs and as many outputs, got {self.inputs} and {self.counters}"
            )
        if any(min(row) < 0 or sum(row) != RESOLUTION for row in self.table):
            raise ParameterError("each row of a channel has to sum to 2^32")
        if not all(all(column) or not any(column) for column in zip(*self.table, strict=True)):
            raise ParameterError(
                "an output that is possible for some inputs only rules the others out: epsilon would be infinite"
            )
        least, most = min(self._worst), max(self._worst)
        if least == most:
            raise ParameterError("every input has the same outputs: the reports say nothing")
        with localcontext(PRECISION):
            object.__setattr__(self, "epsilon", round_up((Decimal(most) / least).ln()))

    @property
    def title(self) -> str:
        """Name of the randomizer in plans."""
        return f"channel to {self.counters} outputs"

    @property
    def inputs(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def parameters(self) -> list[int]:
        """The numbers of inputs and outputs, and the rows of the table one after another."""
        return [self.inputs, self.counters, *(each for row in self.table for each in row)]

    @property
    def counters(self) -> int:
        """Number of outputs: reports are counted by theirs."""
        return len(self.table[0]) if self.table else 0

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        """P(output | input), shape (inputs, counters)."""
        return np.array(self.table) / RESOLUTION

    @cached_property
    def rank(self) -> int:
        """Number of linearly independent rows."""
        return int(np.linalg.matrix_rank(self.channel, rtol=_RANK_TOLERANCE))

    @property
    def identifies(self) -> bool:
        """Whether the frequencies of the inputs follow from those of the outputs."""
        return self.rank == self.inputs

    def perturb(self, values: NDArray[np.integer], *, entropy: Entropy) -> NDArray[np.uint8]:
        values = checked_values(values, choices=self.inputs)
        return pack([entropy.outcomes(self._ends[values])], [self.bits])

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See `Randomizer.valid`: rows of an output that is possible are."""
        possible = np.zeros(2**self.bits, dtype=np.bool_)
        possible[: self.counters] = self.channel.any(axis=0)
        (sent,) = unpack(rows, [self.bits])
        return unused_clear(rows, self.bits) & possible[sent]

    def estimate(self, sums: NDArray[np.int64 | np.float64], *, reports: float) -> NDArray[np.float64]:
        """See `ValueRandomizer.estimate`; reports must be positive."""
        shares: NDArray[np.float64] = np.asarray(sums / reports, dtype=np.float64)
        return shares @ self._inverse

    def standard_errors(self, frequencies: NDArray[np.float64], *, reports: float) -> NDArray[np.float64]:
        """See `ValueRandomizer.standard_errors`; the nearest distribution is taken for the true one.

        Raises:
            ParameterError: see `estimate`.
        """
        shares = on_simplex(frequencies)
        second = shares @ self.channel @ self._inverse**2
        return np.sqrt(np.maximum(second - shares**2, 0.0) / reports)

    @property
    def leverage(self) -> float:
        """See `ValueRandomizer.leverage`; of the share of an output where no frequencies follow, which is 1.

        The estimate adds up a number for each output, which is one that can be sent at all.
        """
        if not self.identifies:
            return 1.0
        added = self._inverse[self.channel.any(axis=0)]
        return float(max(added.max(), 1.0 - added.min()))

    @property
    def mean_variance(self) -> float:
        """See `ValueRandomizer.mean_variance`.

        Raises:
            ParameterError: see `estimate`.
        """
        return float(self.noise(self._uniform).mean())

    @property
    def mean_error(self) -> float:
        if self.identifies:
            return float((self.standard_errors(self._uniform, reports=1) ** 2).mean())
        shares = self._uniform @ self.channel
        return float((shares * (1 - shares)).mean())

    @property
    def chances_to_print(self) -> NDArray[np.float64]:
        """See `Randomizer.chances_to_print`: another solver may find another table for the same distortion."""
        return self.channel

    @property
    def _uniform(self) -> NDArray[np.float64]:
        return np.full(self.inputs, 1 / self.inputs)

    def noise(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `ValueRandomizer.noise`.

        Raises:
            ParameterError: see `estimate`.
        """
        return frequencies @ (self.channel @ self._inverse**2 - (self.channel @ self._inverse) ** 2)

    def stated(self) -> OutputDistribution:
        outputs = no_outputs(self.inputs, self.bits)
        for row, units in zip(outputs, self.table, strict=True):
            row[: self.counters] = [Fraction(unit, RESOLUTION) for unit in units]
        return outputs

    def small(self) -> Self:
        """See `Randomizer.small`: half of the inputs, among them the two with the largest loss."""
        first = sorted(range(self.inputs), key=lambda each: each not in self.furthest)
        kept = sorted(first[: max(2, self.inputs // 2)])
        return type(self)(table=tuple(self.table[each] for each in kept))

    @property
    def furthest(self) -> tuple[int, int]:
        """See `Randomizer.furthest`: the inputs for which an output is likeliest and unlikeliest."""
        column = self._worst
        return column.index(max(column)), column.index(min(column))

    @cached_property
    def _worst(self) -> tuple[int, ...]:
        """The chances of the output that loses most, for each input."""
        possible = [column for column in zip(*self.table, strict=True) if any(column)]
        return max(possible, key=lambda column: Fraction(max(column), min(column)))

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(np.array(self.table, dtype=np.int64), axis=1)

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        """The matrix that takes the shares of the outputs to the frequencies, shape (counters, inputs)."""
        if not self.identifies:
            raise ParameterError(
                f"the frequencies of {self.inputs} inputs do not follow from outputs of rank {self.rank}"
            )
        return np.asarray(np.linalg.pinv(self.channel), dtype=np.float64)


def distortions(size: int, alphabet: int, measure: str) -> NDArray[np.float64]:
    """Return how far each output is from each value, float64, shape (size, alphabet).

    hamming: output y stands for value y, and is 1 away from any other value.
    squared: values are numbered in order, and output y stands for the middle of those from size y / alphabet to
        size (y + 1) / alphabet; the distortion is the square of the difference.
    """
    values = np.arange(size)
    if measure == "hamming":
        others: NDArray[np.bool_] = values[:, None] != np.arange(alphabet)
        return others.astype(np.float64)
    edges = np.arange(alphabet + 1) * size // alphabet
    middles = (edges[:-1] + edges[1:] - 1) / 2
    return (values[:, None] - middles) ** 2


@lru_cache
def least_epsilon(distortion: float, *, size: int, alphabet: int, measure: str) -> ChannelResponse:
    """Return the channel from `size` values to `alphabet` outputs of least epsilon for a distortion.

    measure: see `distortions`.

    Raises:
        ParameterError: no channel has so little distortion or needs so much, or there are too many values.
    """
    if not (2 <= size <= MAX_VALUES and 2 <= alphabet <= size):
        raise ParameterError(
            f"a channel is solved for 2 to {MAX_VALUES} values and at most as many outputs, got {size} and {alphabet}"
        )
    costs = distortions(size, alphabet, measure)
    least, most = float(costs.min(axis=1).max()), _solved(costs, 0.0)[0]
    if distortion < least:
        raise ParameterError(
            f"no channel from {size} values to {alphabet} outputs has a distortion of {distortion:g}, {measure}: it "
            f"is at least {least:g}"
        )
    if distortion >= most:
        raise ParameterError(
            f"a distortion of {distortion:g}, {measure}, is that of reports that say nothing: give less than {most:g}"
        )
    low, high = 0, _MAX_EPSILON * _STEPS_PER_NAT
    if (reached := _solved(costs, _MAX_EPSILON)[0]) > distortion:
        raise ParameterError(
            f"a distortion of {distortion:g}, {measure}, takes more than epsilon {_MAX_EPSILON}, which reaches "
            f"{reached:.4g}: give more distortion"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _solved(costs, middle / _STEPS_PER_NAT)[0] <= distortion else (middle, high)
    epsilon = high / _STEPS_PER_NAT
    channel = _solved(costs, epsilon)[1]
    largest = channel.max(axis=0)
    # What the errors of the solution have put beyond the odds of epsilon is put back.
    channel = np.where(largest > _ZERO_PROBABILITY, np.maximum(channel, largest * math.exp(-epsilon)), 0.0)
    channel /= channel.sum(axis=1, keepdims=True)
    return ChannelResponse(table=exact_rows(channel.tolist()))


def _solved(costs: NDArray[np.float64], epsilon: float) -> tuple[float, NDArray[np.float64]]:
    """Find the channel of least distortion with at most this epsilon.

    The unknowns are the probabilities, the least probability of each output, and the distortion.
    """
    # Not imported above: a client that solves for no channel need not wait for the solver.
    sparse, linprog = imported("scipy.sparse", extra="worker"), imported("scipy.optimize", extra="worker").linprog

    inputs, outputs = costs.shape
    pairs, ones = np.arange(costs.size), np.ones(costs.size)
    unknowns = costs.size + outputs + 1
    least = costs.size + pairs % outputs

    def pairwise(of_pair: float, of_least: float) -> Any:
        entries = np.concatenate([of_pair * ones, of_least * ones])
        return sparse.coo_array(
            (entries, (np.tile(pairs, 2), np.concatenate([pairs, least]))), shape=(costs.size, unknowns)
        )

    rows = pairs // outputs
    worst = sparse.coo_array(
        (
            np.concatenate([costs.reshape(-1), -np.ones(inputs)]),
            (
                np.concatenate([rows, np.arange(inputs)]),
                np.concatenate([pairs, np.full(inputs, unknowns - 1)]),
            ),
        ),
        shape=(inputs, unknowns),
    )
    solution = linprog(
        np.eye(unknowns)[-1],
        A_ub=sparse.vstack([pairwise(-1.0, 1.0), pairwise(1.0, -math.exp(epsilon)), worst]),
        b_ub=np.zeros(2 * costs.size + inputs),
        A_eq=sparse.coo_array((ones, (rows, pairs)), shape=(inputs, unknowns)),
        b_eq=np.ones(inputs),
        method="highs",
    )
    if not solution.success:
        raise ParameterError(f"no channel of epsilon {epsilon} was found: {solution.message}")
    return float(solution.fun), solution.x[: costs.size].reshape(costs.shape)


class ChannelSpec(OracleSpec):
    """The questions by a channel, of the least epsilon for a distortion, or with the probabilities of a table.

    distortion: expected distortion, for every value.
    alphabet: number of outputs; as many as values where the file does not say.
    measure: how distortion is measured: as the chance of another value, or by the squared distance between the
        places of values in their list.
    table: in place of all these, P(output | value), a row for each value.
    """

    model_config = ConfigDict(json_schema_extra=one_of("distortion", "table"))

    oracle: Literal["channel"]
    distortion: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    alphabet: int | None = Field(default=None, ge=2)
    measure: Literal["hamming", "squared"] = "hamming"
    table: tuple[tuple[float, ...], ...] | None = Field(default=None, min_length=2)

    @model_validator(mode="after")
    def _channel_is_given_once(self) -> Self:
        if (self.distortion is None) == (self.table is None):
            raise ParameterError("give either `distortion` or `table` for oracle channel")
        if self.table is not None and {"alphabet", "measure"} & self.model_fields_set:
            raise ParameterError("`alphabet` and `measure` go with `distortion`; leave them out beside `table`")
        return self

    @property
    def given_epsilon(self) -> float:
        raise ParameterError("`distortion` and `table` are for values; numbers and candidates need `epsilon`")

    def value_randomizer(self, size: int, *, of: str) -> ChannelResponse:
        if self.table is None:
            distortion = self.distortion or 0.0  # which is given where there is no table
            return least_epsilon(distortion, size=size, alphabet=self.alphabet or size, measure=self.measure)
        if len(self.table) != size:
            raise ParameterError(
                f"the table has {len(self.table)} rows, and attribute {of!r} {size} values: give each value a row"
            )
        return ChannelResponse(table=exact_rows(self.table))
