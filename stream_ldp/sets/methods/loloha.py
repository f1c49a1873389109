"""LOLOHA: one phase about all items, to which users report again and again (Arcolezi et al., 2023)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import RESOLUTION, LolohaResponse
from stream_ldp.sets.methods.combination import first_candidates, phase_estimate
from stream_ldp.sets.methods.larger_sets import UNTOLD, doubted
from stream_ldp.sets.methods.spec import MAX_EPSILON, MethodSpec, SetSize, require
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate, Target

#: What all reports cost where the file does not say, as a multiple of one: the permanent response then has as much
#: noise as two reports with noise of their own.
_FOR_EVER = 2.0


@dataclass(frozen=True, kw_only=True)
class Loloha:
    """Longitudinal local hashing with two hashes, for one slot of a padded set.

    domain, k: number of items and heavy hitters.
    epsilon, lifetime: cost of one report to a user, and of all reports about a set that does not change, nats.
    set_size: l, number of slots that a set is padded to.
    """

    name: ClassVar[str] = "loloha"

    domain: int
    k: int
    epsilon: float
    lifetime: float
    set_size: int

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The one phase, of all users."""
        return (
            Phase(
                number=1,
                asked=Target.ITEM,
                share=(0, RESOLUTION),
                epsilon=self.epsilon,
                memoised=self._oracle.cost,
            ),
        )

    @property
    def memoising(self) -> LolohaResponse:
        """The oracle."""
        return self._oracle

    def first(self) -> Inquiry:
        """Return the inquiry about any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size)

    def oracle(self, inquiry: Inquiry) -> LolohaResponse:  # noqa: ARG002
        """Return the oracle."""
        return self._oracle

    def solve(
        self,
        inquiry: Inquiry,
        *,
        sums: NDArray[np.int64],
        reports: int,
        before: RankingEstimate | None,  # noqa: ARG002
    ) -> tuple[RankingEstimate, None]:
        """Solve as `Method.solve` says; the estimate holds the k best items."""
        every = phase_estimate(inquiry, self._oracle, sums, reports=reports)
        found = first_candidates(every, self.k, set_size=self.set_size)
        # The only phase shows nothing of sets that have more items than slots.
        return doubted(found, UNTOLD if self.set_size < self.domain else 0.0), None

    @cached_property
    def _oracle(self) -> LolohaResponse:
        return LolohaResponse(size=self.domain, epsilon=self.epsilon, lifetime=self.lifetime)


class LolohaSpec(MethodSpec):
    """The options of LOLOHA."""

    kind: Literal["loloha"]
    set_size: SetSize
    lifetime: float | None = Field(
        default=None,
        description="privacy budget of one user for all epochs in which the set does not change, in nats; twice "
        "epsilon by default",
    )

    @property
    def hash_bits(self) -> int:
        """Number of bits of the Hadamard response: a user's two signs are all that a changing set can show."""
        return 1

    @property
    def _usual_k_max(self) -> int:
        return self.k

    def _method(self, *, domain: int, k_max: int) -> Loloha:
        require(k_max == self.k, "there is only one phase, and no candidates: leave it out", "k_max")
        lifetime = min(_FOR_EVER * self.epsilon, MAX_EPSILON) if self.lifetime is None else self.lifetime
        method = Loloha(domain=domain, k=self.k, epsilon=self.epsilon, lifetime=lifetime, set_size=self.set_size)
        try:
            _ = method.phases
        except ParameterError as error:
            require(False, str(error), "lifetime")
        return method
