"""The interface of mechanisms for records of a few attributes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from stream_ldp.collection import Part
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.blanket import Blanket
from stream_ldp.mechanisms.plausibility import UNTESTED, PlausibilityTest
from stream_ldp.mechanisms.privacy_loss import PRECISION, NotCovered, PrivacyLoss, Values, round_up
from stream_ldp.mechanisms.randomness.entropy import Entropy, GivenWords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from stream_ldp.mechanisms.repeated import RepeatedCost
    from stream_ldp.mechanisms.support import Support


#: The symbols of reports, shape (n, symbols).
Symbols = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class TwoStages:
    """The exact output distribution of one symbol of a report.

    permanent: P(permanent symbol | input), one row for each input; it is drawn once for each value of a user.
    response: P(sent symbol | permanent symbol), one row for each permanent symbol; it is drawn for every report.
    """

    permanent: tuple[tuple[Fraction, ...], ...]
    response: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """One symbol of a report, and how it depends on the attribute's values.

    A mechanism's symbols are independent of each other, given the record: the bits of a one-hot code, or the one
    value that is sent for an attribute.

    inputs: for each value of the attribute, which row of `stages.permanent` it is drawn from. Different values are
        drawn independently, even from the same row.
    cohorts: number of cohorts, where values are hashed first. Symbols are then numbered cohort by cohort, a user has
        one cohort permanently, and values that are drawn alike in it share one permanent response.
    """

    inputs: tuple[int, ...]
    stages: TwoStages
    cohorts: int = 1


class MechanismSpec(Part, ABC):
    """The parameters of a mechanism as a collection file writes them, without its attributes.

    kind: name of the mechanism.
    example: parameters as they are written in one word, such as `f=0.5`.
    """

    example: ClassVar[str]

    kind: str

    @model_validator(mode="after")
    def _parameters_are_possible(self) -> Self:
        self.of(sizes=(2,))
        return self

    @abstractmethod
    def of(self, *, sizes: tuple[int, ...]) -> Mechanism:
        """Return the mechanism for attributes of these sizes.

        Raises:
            ParameterError: the parameters are not possible with these sizes.
        """

    @abstractmethod
    def responses_loss(self, *, responses: int, reports: float) -> float:
        """Return the privacy loss, in nats, of so many permanent responses, each shown in so many reports.

        The responses belong to one attribute. Their loss is that of a record with so many attributes, and is never
        rounded down.
        """

    def costs(self, *, sizes: tuple[int, ...]) -> Sequence[Any]:
        """Return what reports of each attribute cost, as the ledger keeps it: of `ReportCost`, these parameters."""
        return [self] * len(sizes)

    @property
    def is_concave(self) -> bool:
        """Whether a further report of a permanent response loses no more than the one before it."""
        return True

    @classmethod
    @abstractmethod
    def for_budget(cls, *, sizes: tuple[int, ...], lifetime: float, per_report: float | None) -> Self:
        """Return the parameters whose loss, for any two records that do not change, is at most these epsilons.

        lifetime, per_report: epsilon of all reports of one record, and of one report, in nats; without `per_report`,
            one report may cost as much as all.

        Raises:
            ParameterError: no parameters have such a loss.
        """


class Mechanism(ABC):
    """A mechanism that perturbs records on the user's side, with its privacy loss and what decoding has to know.

    Each attribute is perturbed independently, in two stages: a permanent response is drawn once for each value and
    remembered permanently (recomputed from the user's secret), and an instantaneous response to it is drawn afresh
    for every report. A mechanism may do without the latter.

    Every symbol of a report takes one random decision in each stage, in the order of the report's symbols.

    title: name in plans and audits.
    sizes: number of values of each attribute.
    """

    __slots__ = ()

    title: ClassVar[str]
    sizes: tuple[int, ...]

    @property
    @abstractmethod
    def bits(self) -> int:
        """Number of bits of a report."""

    @property
    @abstractmethod
    def words(self) -> tuple[int, ...]:
        """Number of random words that the permanent response of each attribute takes."""

    @property
    def decisions(self) -> tuple[range, ...]:
        """The places of the permanent decisions that each symbol is made by: one for each symbol, in their order."""
        return tuple(range(place, place + 1) for place in range(sum(map(len, self.stated()))))

    @property
    def keyed_by_value(self) -> bool:
        """Whether another value has other permanent words; hashed values have those of their attribute."""
        return not self.bucket_costs

    @property
    def bucket_costs(self) -> Sequence[RepeatedCost]:
        """What reports of each attribute cost in one bucket, where values are hashed; none otherwise."""
        return ()

    def shown(self, values: NDArray[np.integer], words: NDArray[np.uint32]) -> NDArray[np.integer]:  # noqa: ARG002
        """Return which permanent response each value shows, shape (n, attributes): its own, but for hashed values.

        values: value indices, shape (n, attributes).
        words: each user's own permanent words, shape (n, sum of `words`).
        """
        return values

    @property
    @abstractmethod
    def noise(self) -> tuple[list[Any], ...]:
        """All that the permanent response to each attribute depends on beside its value, as plain data."""

    @property
    @abstractmethod
    def meaning(self) -> list[Any]:
        """All parameters that change the meaning of a report, as plain data."""

    def matched_share(self, *, reports: int) -> float | None:  # noqa: ARG002
        """Return the share of users who are found again from one period of linked reports to the next.

        reports: of each user in each period, at least 1.

        None where reports cannot be linked.
        """
        return None

    @abstractmethod
    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        """Draw the permanent symbols of records, shape (n, symbols).

        values: valid value indices, shape (n, attributes).
        """

    @abstractmethod
    def instantaneous(self, symbols: Symbols, entropy: Entropy) -> Symbols:
        """Draw the symbols that are sent for permanent ones, shape (n, symbols)."""

    @abstractmethod
    def packed(self, symbols: Symbols) -> NDArray[np.uint8]:
        """Pack symbols into reports: rows, uint8, shape (n, ceil(bits / 8)), unused bits 0."""

    @abstractmethod
    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Decide which rows are reports that `perturb` can make, bool, shape (n,)."""

    @abstractmethod
    def columns(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """Return the positions in a report of the bits that belong to some attributes, in the given order."""

    @abstractmethod
    def supported(self, bits: NDArray[np.uint8], attributes: Sequence[int]) -> NDArray[np.uint8]:
        """Return which values reports support: 0 or 1, uint8, shape (n, sum of the attributes' sizes).

        bits: of the `columns` of these attributes, uint8, shape (n, columns).
        """

    @property
    @abstractmethod
    def supports(self) -> tuple[Support, ...]:
        """The support of values by reports, for each attribute."""

    @property
    @abstractmethod
    def blankets(self) -> tuple[Blanket, ...]:
        """The blanket of each attribute's part of a report, for any two values; see `Blanket`."""

    @property
    def blanket(self) -> Blanket | None:
        """The blanket of a report, for any two records; None for many attributes."""
        return Blanket.of_all(self.blankets)

    @property
    @abstractmethod
    def permanent_share(self) -> float:
        """Upper bound of the share of a report's noise that all reports of its user have in common, in [0, 1].

        It is the squared maximal correlation of the permanent and the sent symbols of a record: no more of the
        variance of any function of a report comes from its permanent response (Witsenhausen, 1975).
        """

    def linked_odds(
        self,
        ones: NDArray[np.int64],  # noqa: ARG002
        reports: NDArray[np.int64],  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Compute the odds that all reports of each user give to each value; float64, shape of `ones`.

        They are P(ones | the user has the value) / P(ones | another one), and hold all that the reports reveal.

        ones: how many of a user's reports support each value, shape (users, sum of sizes).
        reports: number of reports of each user, at least 1, shape (users,).

        Raises:
            ParameterError: `links` is false.
        """
        raise ParameterError(f"the joint likelihood of several {self.title} reports of a user is unknown")

    @property
    def links(self) -> bool:
        """Whether several reports of a user reveal more together than one by one, as `linked_odds` says."""
        return False

    @property
    @abstractmethod
    def symbol_sizes(self) -> tuple[int, ...]:
        """Number of values that a symbol of each attribute may have: 2 of a bit."""

    @abstractmethod
    def stated(self) -> tuple[tuple[Symbol, ...], ...]:
        """Return the exact output distribution of each symbol of each attribute, as the parameters state it."""

    @abstractmethod
    def small(self) -> Self:
        """Return a mechanism of the same parameters and so few values that all its reports can be enumerated."""

    @abstractmethod
    def privacy_loss(
        self, *, neighbours: int | None = None, reports: float = 1, values: Values = Values.CONSTANT
    ) -> PrivacyLoss:
        """Return the privacy loss of `reports` reports of one user (math.inf: all), with its assumptions.

        neighbours: number of attributes in which two records may differ; None for all, which are any two records.
        values: what is assumed of the user's values over these reports.

        Raises:
            ValueError: neighbours or reports is out of range.
            NotCovered: no formula of the mechanism holds for such values and so many reports.
        """

    def plausibility(
        self,
        bits: NDArray[np.uint8],  # noqa: ARG002
        counts: NDArray[np.int64 | np.float64],  # noqa: ARG002
        attributes: Sequence[int],  # noqa: ARG002
        *,
        reports_per_user: float,  # noqa: ARG002
    ) -> PlausibilityTest:
        """Test whether reports look honest, whatever the users' records are.

        Untested, unless a mechanism has what users' data cannot change.

        bits: of the `columns` of these attributes, uint8, shape (n, columns).
        counts: how often each row came, shape (n,).
        reports_per_user: sum m^2 / sum m over users with m reports each in what is checked.
        """
        return UNTESTED

    def implausible(
        self,
        rows: NDArray[np.uint8],  # noqa: ARG002
        counts: NDArray[np.int64],
        *,
        reports_per_user: float | NDArray[np.float64],  # noqa: ARG002
    ) -> NDArray[np.bool_]:
        """Decide which batches no honest client sends, bool, shape (batches,): none, unless a mechanism tests them.

        rows: packed reports of all batches, one after another.
        counts: number of reports of each batch, int64, shape (batches,).
        reports_per_user: as for `plausibility`, of all batches or of each.
        """
        return np.zeros(len(counts), dtype=np.bool_)

    @overload
    def design_effect(self, *, reports_per_user: float) -> float: ...

    @overload
    def design_effect(self, *, reports_per_user: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def design_effect(self, *, reports_per_user: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        """Bound from above how much the variance of counts grows because users report more than once.

        reports_per_user: sum m^2 / sum m for users with m of the checked reports each: the number of reports of the
            average report's user; or several such numbers. Reports do not say, but the operator of the clients has
            their interval.

        The reports of a user share the permanent response and are otherwise independent. For a function h of a
        report, m reports have variance m Var h + m (m - 1) Var E[h | permanent response]. The last is at most
        `permanent_share` times Var h.

        Raises:
            ValueError: fewer than one report per user.
        """
        if np.any(np.less(reports_per_user, 1)):
            raise ValueError(
                f"a user who is counted has sent at least 1 report, got reports_per_user={reports_per_user}"
            )
        return 1 + (reports_per_user - 1) * self.permanent_share

    def perturb(
        self,
        values: NDArray[np.integer],
        *,
        entropy: Entropy,
        permanent_words: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.uint8]:
        """Make reports of many users: packed rows, uint8, shape (n, ceil(bits / 8)).

        values: value indices, shape (n, attributes).
        permanent_words: each user's own words from `PermanentWords`, shape (n, sum of `words`). Without them,
            permanent responses are drawn afresh from `entropy`, which is right only for users who report once.

        Raises:
            ValueError: a value is not one of its attribute's, or the shapes do not agree.
        """
        source = entropy if permanent_words is None else GivenWords(permanent_words)
        return self.packed(self.instantaneous(self.permanent(self._checked(values), source), entropy))

    def epsilon(self, *, neighbours: int | None = None, reports: float = 1) -> float:
        """Return the privacy loss in nats of `reports` reports (math.inf: all) of one constant record.

        neighbours: number of attributes in which two records may differ; None for all, which are any two records.

        Raises:
            ValueError: neighbours or reports is out of range.
        """
        return self.privacy_loss(neighbours=neighbours, reports=reports).epsilon

    def _checked(self, values: NDArray[np.integer]) -> NDArray[np.intp]:
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != len(self.sizes):
            raise ValueError(f"values must have shape (n, {len(self.sizes)}), got {values.shape}")
        checked = values.astype(np.intp, copy=False)
        # Most records are checked at once: they have no value that is none of the smallest attribute's. Unsigned, a
        # negative value is larger than any other.
        usual = not checked.size or checked.view(np.uintp).max() < min(self.sizes)
        if not usual and (outside := (values < 0) | (values >= np.array(self.sizes))).any():
            column = int(np.flatnonzero(outside.any(axis=0))[0])
            # The value itself stays out of the message: it is what the mechanism protects.
            raise ValueError(f"attribute {column} has a value outside 0..{self.sizes[column] - 1}")
        return checked


def checked_neighbours(neighbours: int | None, sizes: Sequence[int]) -> int:
    """Return the number of attributes in which two records may differ; None stands for all.

    Raises:
        ValueError: there are not so many attributes.
    """
    neighbours = len(sizes) if neighbours is None else neighbours
    if not 1 <= neighbours <= len(sizes):
        raise ValueError(f"two records differ in 1 to {len(sizes)} attributes, got neighbours={neighbours}")
    return neighbours


def repeated_responses_loss(
    losses: Callable[[float], Sequence[Decimal]],
    *,
    sizes: Sequence[int],
    neighbours: int | None,
    reports: float,
    values: Values,
    shown: str,
) -> PrivacyLoss:
    """Return the privacy loss of a mechanism whose reports show one permanent response for each attribute.

    losses: returns the loss of so many reports of each attribute, in nats, in the context `PRECISION`.
    neighbours, reports, values: see `Mechanism.privacy_loss`.
    shown: the mechanism and what it does, for the error, such as `k-rr, which names`.

    Raises:
        ParameterError, ValueError: reports or neighbours is out of range.
        NotCovered: more than one report of a record that may change.
    """
    neighbours = checked_neighbours(neighbours, sizes)
    if not (reports == math.inf or (reports >= 1 and reports == int(reports))):
        raise ParameterError(f"reports must be a positive whole number or math.inf, got {reports}")
    if values is Values.CHANGING and reports != 1:
        raise NotCovered(
            f"a change of a record shows in {shown} the same as long as it does not change: where it may, ask for "
            "reports=1"
        )
    with localcontext(PRECISION):
        epsilon = round_up(sum(sorted(losses(reports))[-neighbours:], start=Decimal(0)))
    return PrivacyLoss(epsilon=epsilon, neighbours=neighbours, attributes=len(sizes), reports=reports, values=values)
