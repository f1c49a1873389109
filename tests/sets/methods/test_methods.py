"""Methods as built from options: what they ask of whom, and what they make of any answers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION, HadamardResponse, SeededEntropy, UnaryResponse
from stream_ldp.sets.epoch import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.methods.gfim import GFIM
from stream_ldp.sets.methods.ldpminer import LDPMiner
from stream_ldp.sets.methods.methods import OPTIONS, Kind, method
from stream_ldp.sets.methods.svim import SVIM
from stream_ldp.sets.phases import Asked, Inquiry, Method, Standing, epoch_epsilon

#: Noise so small that only sampling is left.
NOISELESS = 15.0


def build(kind: Kind, **changes: Any) -> Method:
    return method(kind, **{"domain": 60, "k": 4, "epsilon": 2.0, "set_size": 5, **changes})


ALL = pytest.mark.parametrize("kind", list(Kind))


def population(users: int, *, seed: int = 0) -> ItemSets:
    """Sets of 0 to 5 of 60 items; item i is held by 0.9 - 0.1 i of the users up to 4, others by one in 500."""
    rng = np.random.default_rng(seed)
    chances = np.array([0.9, 0.7, 0.5, 0.3, 0.1] + [0.0] * 55)
    held = rng.random((users, 60)) < chances
    rare = np.flatnonzero(~held.any(axis=1) & (rng.random(users) < 0.5))
    held[rare, rng.integers(5, 60, size=len(rare))] = True
    return ItemSets.of(np.flatnonzero(row).tolist() for row in held)


@ALL
def test_every_user_spends_exactly_epsilon_in_an_epoch(kind: Kind) -> None:
    phases = build(kind).phases
    assert [phase.number for phase in phases] == list(range(1, len(phases) + 1))
    words = np.concatenate([np.linspace(0, RESOLUTION - 1, 1_001).astype(np.uint32), [np.uint32(RESOLUTION - 1)]])
    spent = sum(phase.asks(words) * phase.epsilon for phase in phases)
    assert spent == pytest.approx(np.full(len(words), 2.0), abs=1e-12)
    assert epoch_epsilon(build(kind)) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (Kind.GFIM, [(1.0, 1.2), (0.5, 0.8), (0.5, 0.8)]),
        (Kind.GFIM_USERS, [(0.6, 2.0), (0.2, 2.0), (0.2, 2.0)]),
        (Kind.LDPMINER, [(1.0, 1.0), (1.0, 1.0)]),
        (Kind.SVIM, [(0.4, 2.0), (0.1, 2.0), (0.5, 2.0)]),
    ],
)
def test_phases_ask_the_published_shares_of_users_at_the_published_epsilons(
    kind: Kind, parts: list[tuple[float, float]]
) -> None:
    phases = build(kind).phases
    assert [phase.part for phase in phases] == pytest.approx([part for part, _ in parts], abs=1e-9)
    assert [phase.epsilon for phase in phases] == pytest.approx([epsilon for _, epsilon in parts])
    if kind is not Kind.LDPMINER:
        # Users of one phase are not those of another, but for phase 1 of gfim, which asks everybody.
        shares = [phase.share for phase in phases if phase.part < 1.0]
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(shares))


def test_only_svim_counts_candidates() -> None:
    asked = {kind: [phase.asked for phase in build(kind).phases] for kind in Kind}
    assert asked.pop(Kind.SVIM) == [Asked.ITEM, Asked.COUNT, Asked.ITEM]
    assert {question for phases in asked.values() for question in phases} == {Asked.ITEM}


def test_split_divides_epsilon_for_gfim_and_users_for_gfim_users() -> None:
    assert [phase.epsilon for phase in build(Kind.GFIM, split=(0.25, 0.75)).phases] == [0.5, 1.5, 1.5]
    users = build(Kind.GFIM_USERS, split=(0.5, 0.5)).phases
    assert [phase.part for phase in users] == [0.5, 0.25, 0.25]


@ALL
def test_with_hardly_any_noise_the_true_ranking_is_found(kind: Kind) -> None:
    """Seeded. 20,000 users; the items' frequencies differ by 0.2, sampling errors are below 0.03."""
    sets = population(20_000)
    standing = run_epoch(build(kind, epsilon=NOISELESS), sets, entropy=SeededEntropy(2))
    assert standing.items[:4].tolist() == [0, 1, 2, 3]
    assert standing.frequency[:4] == pytest.approx(sets.frequencies(60)[:4], abs=0.1)
    assert (np.diff(standing.frequency) <= 0.0).all()


@ALL
def test_estimates_are_unbiased_and_their_standard_errors_hold(kind: Kind) -> None:
    """Seeded. The true item 0 is a candidate of all 40 epochs; z values of its estimate.

    A mean of 40 beyond 0.8 comes up once in 2 million honest runs, a deviation out of 0.6 to 1.5 once in 10,000.
    """
    sets = population(5_000)
    truth = sets.frequencies(60)[0]
    scores = []
    for seed in range(40):
        standing = run_epoch(build(kind, epsilon=4.0), sets, entropy=SeededEntropy(seed))
        (place,) = np.flatnonzero(standing.items == 0)
        scores.append((standing.frequency[place] - truth) / standing.standard_error[place])
    assert abs(np.mean(scores)) < 0.8
    assert 0.6 < np.std(scores) < 1.5


@ALL
def test_every_phase_ends_even_if_nobody_reports(kind: Kind) -> None:
    standing = run_epoch(build(kind), ItemSets.of([]), entropy=SeededEntropy(0))
    assert len(standing.items) >= 4
    assert standing.frequency.tolist() == [0.0] * len(standing.items)
    assert np.isinf(standing.standard_error).all()


@ALL
def test_a_phase_without_reports_leaves_earlier_estimates_unchanged(kind: Kind) -> None:
    chosen = build(kind)
    sets = population(2_000)
    standing: Standing | None = None
    inquiry: Inquiry | None = chosen.first()
    first: Standing | None = None
    while inquiry is not None:
        sums: NDArray[np.int64] = np.zeros(chosen.oracle(inquiry).counters, dtype=np.int64)
        reports = 0
        if first is None:
            rows = chosen.oracle(inquiry).perturb(sets.items[:2_000], entropy=SeededEntropy(1))
            sums, reports = chosen.oracle(inquiry).sums(rows), len(rows)
        standing, inquiry = chosen.solve(inquiry, sums=sums, reports=reports, before=standing)
        first = first or standing
    assert standing is not None
    assert first is not None
    assert standing.items.tolist() == first.items[: len(standing.items)].tolist()
    assert standing.frequency.tolist() == first.frequency[: len(standing.items)].tolist()


@ALL
def test_common_items_are_found_among_empty_sets_and_sets_larger_than_l(kind: Kind) -> None:
    """Seeded. Half of the users hold nothing, half 20 items of which only two are common."""
    rng = np.random.default_rng(1)
    sets = ItemSets.of(
        [] if user % 2 else [0, 1, *(2 + rng.choice(58, size=18, replace=False)).tolist()] for user in range(20_000)
    )
    standing = run_epoch(build(kind, k=2, epsilon=NOISELESS), sets, entropy=SeededEntropy(3))
    assert set(standing.items[:2].tolist()) == {0, 1}


@ALL
def test_k_may_be_the_whole_domain(kind: Kind) -> None:
    chosen = method(kind, domain=5, k=5, epsilon=4.0, set_size=2)
    standing = run_epoch(chosen, ItemSets.of([[0, 1], [4], []] * 500), entropy=SeededEntropy(4))
    assert sorted(standing.items.tolist()) == [0, 1, 2, 3, 4]


@ALL
def test_the_same_seed_gives_the_same_epoch(kind: Kind) -> None:
    sets = population(2_000)
    one, same, other = (run_epoch(build(kind), sets, entropy=SeededEntropy(seed)) for seed in (1, 1, 2))
    assert one.items.tolist() == same.items.tolist()
    assert one.frequency.tolist() == same.frequency.tolist()
    assert one.frequency.tolist() != other.frequency.tolist()


def test_gfim_narrows_the_domain_to_candidates_and_then_to_finalists() -> None:
    gfim = build(Kind.GFIM, k=3, k_max=10, finalists=6)
    inquiry: Inquiry | None = gfim.first()
    standing: Standing | None = None
    asked, padding = [], []
    while inquiry is not None:
        asked.append(60 if inquiry.candidates is None else len(inquiry.candidates))
        padding.append(inquiry.padding)
        sums: NDArray[np.int64] = np.zeros(gfim.oracle(inquiry).counters, dtype=np.int64)
        standing, inquiry = gfim.solve(inquiry, sums=sums, reports=0, before=standing)
    assert asked == [60, 10, 6]
    assert padding == [5, 5, 5]
    assert standing is not None
    assert len(standing.items) == 6
    small = build(Kind.GFIM, k=2, k_max=4, finalists=3)
    _, second = small.solve(
        small.first(), sums=np.zeros(small.oracle(small.first()).counters, dtype=np.int64), reports=0, before=None
    )
    assert second is not None
    assert second.padding == 4, "a set shares no more than all candidates"


def test_the_papers_form_is_sampling_sh_except_for_rappor_in_ldpminers_second_phase() -> None:
    for kind in (Kind.GFIM, Kind.LDPMINER):
        published = build(kind, hash_bits=1, combine="paper")
        inquiry = Inquiry(phase=2, candidates=np.arange(12), padding=12)
        oracles = [published.oracle(published.first()), published.oracle(inquiry)]
        assert isinstance(oracles[0], HadamardResponse)
        assert isinstance(oracles[1], HadamardResponse if kind is Kind.GFIM else UnaryResponse)


def test_options_left_out_take_defaults_that_fit_the_domain() -> None:
    gfim, ldpminer, svim = (
        method(kind, domain=100, k=10, epsilon=1.0, set_size=7) for kind in (Kind.GFIM, Kind.LDPMINER, Kind.SVIM)
    )
    assert isinstance(gfim, GFIM)
    assert (gfim.k_max, gfim.finalists, gfim.split, gfim.combine, gfim.hash_bits) == (
        30,
        20,
        (0.6, 0.4),
        "variance",
        None,
    )
    assert isinstance(ldpminer, LDPMiner)
    assert (ldpminer.k_max, ldpminer.combine, ldpminer.hash_bits) == (30, "variance", None)
    assert isinstance(svim, SVIM)
    assert (svim.k_max, svim.set_size, svim.hash_bits) == (20, 7, None)
    crowded = method(Kind.GFIM, domain=15, k=10, epsilon=1.0, set_size=7)
    assert isinstance(crowded, GFIM)
    assert (crowded.k_max, crowded.finalists) == (15, 15)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("gfin", {}, "'gfin' is no method; known are gfim, gfim-users, ldpminer, svim"),
        ("gfim", {"domain": 1}, "the domain has 1 items; from 2 to 1,048,576"),
        ("gfim", {"domain": 2**20 + 1}, "the domain has 1,048,577 items; from 2 to 1,048,576"),
        ("svim", {"epsilon": 22.5}, "phase 1 has an epsilon of 22.5; from 0.001 to 22"),
        ("gfim", {"split": (0.9999, 0.0001)}, "phase 2 has an epsilon of 0.0002; from 0.001 to 22"),
        ("gfim", {"k": 61}, "k is 61; from 1 to the 60 items of the domain"),
        ("svim", {"k": 0}, "k is 0; from 1 to the 60 items of the domain"),
        ("svim", {"epsilon": 0.0}, "epsilon is 0.0; a positive number"),
        ("svim", {"epsilon": float("nan")}, "epsilon is nan; a positive number"),
        ("gfim", {"k_max": 3}, "k_max is 3; from k, 4, to the 60 items of the domain"),
        ("gfim", {"k_max": 61}, "k_max is 61; from k, 4, to the 60 items of the domain"),
        ("gfim", {"finalists": 3}, "finalists is 3; from k, 4, to k_max, 12"),
        ("gfim", {"finalists": 13}, "finalists is 13; from k, 4, to k_max, 12"),
        ("gfim", {"set_size": None}, "gfim needs set_size"),
        ("ldpminer", {"set_size": None}, "ldpminer needs set_size"),
        ("gfim-users", {"set_size": 0}, "set_size is 0; from 1 to the 60 items of the domain"),
        ("svim", {"set_size": 61}, "set_size is 61; from 1 to the 60 items of the domain"),
        ("gfim-users", {"split": (1 - 1e-11, 1e-11)}, "phase 2 asks nobody: give it a larger part of the split"),
        ("gfim", {"split": (0.6, 0.6)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"split": (1.0, 0.0)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"split": (0.5, 0.25, 0.25)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"combine": "median"}, "combine is 'median'; paper or variance"),
        ("gfim", {"hash_bits": 0}, r"hash_bits is 0; from 1 \(sampling SH\) to 8"),
        ("gfim", {"hash_bits": 9}, r"hash_bits is 9; from 1 \(sampling SH\) to 8"),
        ("svim", {"finalists": 5}, "svim has no finalists: leave it out"),
        ("svim", {"combine": "paper"}, "svim has no combine: leave it out"),
        ("ldpminer", {"split": (0.5, 0.5)}, "ldpminer has no split: leave it out"),
    ],
)
def test_an_impossible_option_is_refused_with_what_is_possible(
    kind: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method(kind, **{"domain": 60, "k": 4, "epsilon": 2.0, "set_size": 5, **changes})


def test_every_option_takes_effect_in_the_methods_it_is_listed_for() -> None:
    values = {"k_max": 9, "finalists": 5, "set_size": 3, "split": (0.5, 0.5), "combine": "paper", "hash_bits": 2}
    for kind, options in OPTIONS.items():
        assert options <= values.keys()
        for name in options:
            assert build(kind, **{name: values[name]}) != build(kind)


@pytest.mark.parametrize("epsilon", [0.001, 22.0])
@pytest.mark.parametrize("hash_bits", [None, 1, 8])
def test_methods_built_at_the_limits_of_their_options_have_usable_oracles(
    epsilon: float, hash_bits: int | None
) -> None:
    svim = method("svim", domain=2**20, k=1_000, epsilon=epsilon, set_size=100, hash_bits=hash_bits)
    candidates = np.arange(2_000)
    for inquiry in (
        svim.first(),
        Inquiry(phase=2, candidates=candidates, padding=1),
        Inquiry(phase=3, candidates=candidates, padding=1),
        Inquiry(phase=3, candidates=candidates, padding=2_000),
    ):
        p, q = svim.oracle(inquiry).support
        assert p > q
    ldpminer = method("ldpminer", domain=4, k=2, epsilon=2 * epsilon, set_size=2)
    p, q = ldpminer.oracle(Inquiry(phase=2, candidates=np.arange(4), padding=4)).support
    assert p > q


@pytest.mark.parametrize("split", [(0.6, 0.4), (0.3, 0.7), (0.5, 0.5)])
def test_an_epoch_costs_exactly_epsilon_despite_rounding(split: tuple[float, float]) -> None:
    """epsilon 0.6 + epsilon 0.4 is more than epsilon, by a rounding, for 15 of these 100."""
    for tenths in range(1, 101):
        assert epoch_epsilon(build(Kind.GFIM, epsilon=tenths / 10, split=split)) == tenths / 10
