"""Tests of GFIM, which splits epsilon or the users, and narrows the domain down to the finalists."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import HadamardResponse
from stream_ldp.sets.methods.gfim import GFIM, BudgetSplit
from stream_ldp.sets.phases import Inquiry, RankingEstimate, epoch_epsilon
from tests.sets.methods.examples import build, method


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("gfim", [(1.0, 1.2), (0.5, 0.8), (0.5, 0.8)]),
        ("gfim-users", [(0.6, 2.0), (0.2, 2.0), (0.2, 2.0)]),
    ],
)
def test_phases_ask_the_published_shares_of_users_at_the_published_epsilons(
    kind: str, parts: list[tuple[float, float]]
) -> None:
    phases = build(kind).phases
    assert [phase.part for phase in phases] == pytest.approx([part for part, _ in parts], abs=1e-9)
    assert [phase.epsilon for phase in phases] == pytest.approx([epsilon for _, epsilon in parts])
    # Users of one phase are not those of another, but for phase 1 of gfim, which asks everybody.
    shares = [phase.share for phase in phases if phase.part < 1.0]
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(shares))


def test_split_divides_epsilon_for_gfim_and_users_for_gfim_users() -> None:
    assert [phase.epsilon for phase in build("gfim", split=(0.25, 0.75)).phases] == [0.5, 1.5, 1.5]
    users = build("gfim-users", split=(0.5, 0.5)).phases
    assert [phase.part for phase in users] == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("split", [(0.6, 0.4), (0.3, 0.7), (0.5, 0.5)])
def test_an_epoch_costs_exactly_epsilon_despite_rounding(split: tuple[float, float]) -> None:
    """epsilon 0.6 + epsilon 0.4 is more than epsilon, by a rounding, for 15 of these 100."""
    for tenths in range(1, 101):
        assert epoch_epsilon(build("gfim", epsilon=tenths / 10, split=split)) == tenths / 10


def test_gfim_narrows_the_domain_to_candidates_and_then_to_finalists() -> None:
    gfim = build("gfim", k=3, k_max=10, finalists=6)
    inquiry: Inquiry | None = gfim.first()
    estimate: RankingEstimate | None = None
    asked, padding = [], []
    while inquiry is not None:
        asked.append(60 if inquiry.candidates is None else len(inquiry.candidates))
        padding.append(inquiry.padding)
        sums: NDArray[np.int64] = np.zeros(gfim.oracle(inquiry).counters, dtype=np.int64)
        estimate, inquiry = gfim.solve(inquiry, sums=sums, reports=0, before=estimate)
    assert asked == [60, 10, 6]
    assert padding == [5, 5, 5]
    assert estimate is not None
    assert len(estimate.items) == 6
    small = build("gfim", k=2, k_max=4, finalists=3)
    _, second = small.solve(
        small.first(), sums=np.zeros(small.oracle(small.first()).counters, dtype=np.int64), reports=0, before=None
    )
    assert second is not None
    assert second.padding == 4, "a set shares no more than all candidates"


def test_the_papers_form_is_sampling_sh_in_every_phase() -> None:
    published = build("gfim", hash_bits=1, combine="paper")
    inquiry = Inquiry(phase=2, candidates=np.arange(12), padding=12)
    assert isinstance(published.oracle(published.first()), HadamardResponse)
    assert isinstance(published.oracle(inquiry), HadamardResponse)


def test_options_left_out_take_defaults_that_fit_the_domain() -> None:
    gfim = method("gfim", domain=100, k=10, epsilon=1.0, set_size=7)
    assert isinstance(gfim, GFIM)
    assert (gfim.k_max, gfim.finalists, gfim.split, gfim.combine, gfim.hash_bits) == (
        30,
        20,
        BudgetSplit(0.6, 0.4),
        "variance",
        None,
    )
    crowded = method("gfim", domain=15, k=10, epsilon=1.0, set_size=7)
    assert isinstance(crowded, GFIM)
    assert (crowded.k_max, crowded.finalists) == (15, 15)
