"""Tests of sampling: reports of any set are drawn as the method says."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, SeededEntropy
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.svim import SVIM
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import method

USERS = 40_000


#: Ten values and eight dummies, reported without noise but for one report in 30 million.
OPEN = DirectResponse(size=10, dummies=8, epsilon=20.0)


@dataclass
class Asking:
    """A method of one inquiry, about items or about their number."""

    answers: FrequencyOracle
    phases: tuple[Phase, ...]
    name: str = "asking"
    domain: int = 10
    k: int = 1

    @property
    def memoising(self) -> None:
        """None: every report is made afresh."""

    def first(self) -> Inquiry:
        return Inquiry(phase=1, candidates=None, padding=1)

    def oracle(self, inquiry: Inquiry) -> FrequencyOracle:
        return self.answers

    def solve(
        self, inquiry: Inquiry, *, sums: NDArray[np.int64], reports: int, before: RankingEstimate | None
    ) -> tuple[RankingEstimate, Inquiry | None]:
        raise NotImplementedError


SVIM_PHASES = method("svim", domain=10, k=2, epsilon=1.0).phases
ITEM, COUNT = SVIM_PHASES[:1], (SVIM_PHASES[1],)


def _told(
    held: list[int],
    *,
    padding: int,
    phases: tuple[Phase, ...],
    candidates: list[int] | None = None,
    missing: bool = False,
) -> dict[int, float]:
    """Compute the shares of many users with this set who report each value."""
    inquiry = Inquiry(
        phase=1,
        candidates=None if candidates is None else np.array(candidates),
        padding=padding,
        missing=missing,
    )
    rows = respond(Asking(OPEN, phases), inquiry, ItemSets.of([held] * USERS), entropy=SeededEntropy(5))
    parts = OPEN.sums(rows) / USERS
    return {int(value): float(parts[value]) for value in np.flatnonzero(parts)}


@pytest.mark.parametrize(
    ("held", "padding", "expected"),
    [
        ([4, 7], 5, {4: 1 / 5, 7: 1 / 5, 10: 1 / 5, 11: 1 / 5, 12: 1 / 5}),
        ([4, 7], 1, {4: 1 / 2, 7: 1 / 2}),
        ([4, 7, 1], 2, {4: 1 / 3, 7: 1 / 3, 1: 1 / 3}),
        ([], 2, {10: 1 / 2, 11: 1 / 2}),
        ([], 1, {10: 1.0}),
    ],
)
def test_one_of_l_slots_is_drawn_evenly_or_one_item_of_a_larger_set(
    held: list[int], padding: int, expected: dict[int, float]
) -> None:
    """Seeded. With 40,000 draws, a part is wrong by more than 0.0125 (5 standard errors) once in 1.7 million."""
    assert _told(held, padding=padding, phases=ITEM) == pytest.approx(expected, abs=0.0125)


def test_only_candidates_are_reported_each_by_its_position_among_them() -> None:
    assert set(_told([4, 7, 1], padding=1, phases=ITEM, candidates=[9, 1, 4])) == {1, 2}


def test_candidates_that_the_set_lacks_are_reported_where_they_are_asked_for() -> None:
    assert set(_told([4, 7, 1], padding=1, phases=ITEM, candidates=[9, 1, 4, 5], missing=True)) == {0, 3}


@pytest.mark.parametrize(("held", "expected"), [([4, 7, 1], 2), ([], 0), ([0], 0), ([9, 1, 4, 0], 3)])
def test_a_count_reports_how_many_candidates_a_set_holds(held: list[int], expected: int) -> None:
    assert _told(held, padding=1, phases=COUNT, candidates=[9, 1, 4]) == {expected: 1.0}


def test_a_set_reported_as_a_whole_is_not_sampled_first() -> None:
    """Seeded. Users with the same three items: sampled, each would be supported by a third of them only."""
    svim = method("svim", domain=100_000, k=32, epsilon=6.0, set_size=4)
    assert isinstance(svim, SVIM)
    inquiry = svim.first()
    oracle = svim.oracle(inquiry)
    assert isinstance(oracle, SetHadamardResponse)
    rows = respond(svim, inquiry, ItemSets.of([[5, 77, 4_000]] * 2_000), entropy=SeededEntropy(1))
    estimate, _ = svim.solve(inquiry, sums=oracle.sums(rows), reports=len(rows), before=None)
    assert set(estimate.items[:3].tolist()) == {5, 77, 4_000}
    assert estimate.frequency[:3] == pytest.approx([1.0] * 3, abs=0.2)


def test_with_hash_bits_1_every_report_is_of_one_sampled_item() -> None:
    published = method("gfim", domain=100, k=5, epsilon=1.0, set_size=7, hash_bits=1)
    oracle = published.oracle(published.first())
    assert isinstance(oracle, HadamardResponse)
    assert oracle.hash_bits == 1
