"""LDPMiner: all users determine candidates, then all of them the candidates' frequencies (Qin et al., 2016)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, FrequencyOracle, UnaryResponse
from stream_ldp.sets.methods.combination import (
    Combine,
    combined_estimate,
    first_candidates,
    most_frequent,
    phase_estimate,
)
from stream_ldp.sets.methods.larger_sets import stretched
from stream_ldp.sets.methods.oracle_choice import item_oracle
from stream_ldp.sets.methods.spec import DEFAULT_COMBINE, AskedSetSize, Combination, HashBits, MethodSpec
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate, Target


@dataclass(frozen=True, kw_only=True)
class LDPMiner:
    """LDPMiner: sampling SH over the domain, then sampling RAPPOR over the candidates, epsilon / 2 each.

    domain, k, k_max: number of items, heavy hitters and candidates; k <= k_max <= domain.
    epsilon: cost of an epoch to a user, nats.
    set_size: l, number of slots that a set is padded to in phase 1; in phase 2 it is the number of candidates. None
        if it is not known: phase 1 then samples one item of a set of any size, and determines only the candidates.
    combine: how the estimates of the phases are combined.
    hash_bits: t of the Hadamard responses, 1 for sampling SH; None for the least variance.
    """

    name: ClassVar[str] = "ldpminer"

    domain: int
    k: int
    k_max: int
    epsilon: float
    set_size: int | None
    combine: Combine
    hash_bits: int | None

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The two phases, both of all users."""
        everybody = (0, RESOLUTION)
        return tuple(
            Phase(number=number, asked=Target.ITEM, share=everybody, epsilon=self.epsilon / 2) for number in (1, 2)
        )

    @property
    def memoising(self) -> None:
        """None: every report is made afresh."""

    def first(self) -> Inquiry:
        """Return the inquiry about any item of the domain."""
        return Inquiry(phase=1, candidates=None, padding=self.set_size or 1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        """Return the oracle of sampling SH, or one of less variance; in phase 2, that of sampling RAPPOR."""
        epsilon = self.phases[inquiry.phase - 1].epsilon
        if inquiry.candidates is not None:
            return UnaryResponse(size=len(inquiry.candidates), epsilon=epsilon)
        return item_oracle(self.domain, padding=inquiry.padding, epsilon=epsilon, hash_bits=self.hash_bits)

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        """Solve as `Method.solve` says; the estimate holds the candidates."""
        now = phase_estimate(inquiry, self.oracle(inquiry), sums, reports=reports)
        if before is None:
            candidates = first_candidates(now, self.k_max, set_size=self.set_size, combine=self.combine)
            return candidates, Inquiry(phase=2, candidates=candidates.items, padding=len(candidates.items))
        if not reports:
            return before, None
        if self.set_size is not None:
            # Phase 2 pads to all candidates, so that little is seen of what larger sets have cost phase 1.
            now = combined_estimate(before, now, combine=self.combine, set_size=self.set_size, doubting=stretched)
        return most_frequent(now, self.k_max), None


class LdpMinerSpec(MethodSpec):
    """The options of LDPMiner."""

    kind: Literal["ldpminer"]
    set_size: AskedSetSize | None = None
    combine: Combination = None
    hash_bits: HashBits = None

    def _method(self, *, domain: int, k_max: int) -> LDPMiner:
        return LDPMiner(
            domain=domain,
            k=self.k,
            k_max=k_max,
            epsilon=self.epsilon,
            set_size=self.known_size,
            combine=self.combine or DEFAULT_COMBINE,
            hash_bits=self.hash_bits,
        )
