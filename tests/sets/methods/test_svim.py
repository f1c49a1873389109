"""Tests of SVIM, which learns how many candidates sets hold, and pads to that."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.methods.svim import SVIM, lengths
from stream_ldp.sets.phases import Inquiry, RankingEstimate
from tests.sets.methods.examples import answers_of, build, method

#: 8 candidates of 40 items.
LEARNING = method("svim", domain=40, k=4, k_max=8, epsilon=18.0)
BEFORE = RankingEstimate(items=np.arange(8), frequency=np.linspace(0.3, 0.1, 8), standard_error=np.full(8, 0.01))
COUNTING = Inquiry(phase=2, candidates=BEFORE.items, padding=1)


def _after_counts(parts: list[float], *, users: int = 10_000) -> Inquiry:
    """Make the inquiry of phase 3 if these shares of the users hold 0, 1, ... candidates."""
    counts = np.repeat(np.arange(9), np.round(np.array(parts + [0.0] * (9 - len(parts))) * users).astype(int))
    sums = answers_of(LEARNING, COUNTING, [list(range(count)) for count in counts.tolist()])
    estimate, inquiry = LEARNING.solve(COUNTING, sums=sums, reports=users, before=BEFORE)
    assert estimate is BEFORE
    assert inquiry is not None
    assert inquiry.candidates is BEFORE.items
    return inquiry


def test_padding_leaves_nine_in_ten_sets_whole_and_the_correction_makes_up_the_rest() -> None:
    # Of those who hold any: 60 % one, 32 % two, 4 % three, 4 % five.
    inquiry = _after_counts([0.5, 0.3, 0.16, 0.02, 0.0, 0.02])
    assert inquiry.padding == 2
    # Counts are fitted with one mode: the 0.02 with five candidates become 0.01 with four and 0.01 with five.
    assert inquiry.correction == pytest.approx((0.3 + 0.32 + 0.06 + 0.09) / (0.3 + 0.32 + 0.04 + 0.04), abs=0.01)


def test_sets_without_candidates_do_not_affect_the_padding_or_the_correction() -> None:
    assert (_after_counts([1.0]).padding, _after_counts([1.0]).correction) == (1, 1.0)
    few, many = _after_counts([0.9, 0.0, 0.1]), _after_counts([0.0, 0.0, 1.0])
    assert few.padding == many.padding == 2
    assert (few.correction, many.correction) == pytest.approx((1.0, 1.0))


def test_sets_that_hold_nearly_all_candidates_are_asked_for_what_they_lack() -> None:
    """Of 8, nine in ten who lack any lack one: a slot in place of eight."""
    inquiry = _after_counts([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.03, 0.4, 0.57])
    assert (inquiry.padding, inquiry.missing) == (1, True)
    assert not _after_counts([0.57, 0.4, 0.03]).missing


def test_frequencies_are_right_whichever_is_asked_for() -> None:
    """Seeded. 20,000 users lack one of five candidates each, and have the other three; the doubt is about a fifth."""
    method = build("svim", domain=40, k_max=8, epsilon=18.0, set_size=None)
    held = [[item for item in range(8) if item != user % 5] for user in range(20_000)]
    found = {}
    for missing, padding, doubt in ((False, 7, 0.0), (True, 1, 0.0), (True, 1, 0.1)):
        asked = replace(COUNTING, phase=3, padding=padding, missing=missing, doubt=doubt)
        sums = answers_of(method, asked, held)
        estimate, _ = method.solve(asked, sums=sums, reports=len(held), before=BEFORE)
        order = np.argsort(estimate.items)
        assert estimate.frequency[order] == pytest.approx([0.8] * 5 + [1.0] * 3, abs=0.05)
        found[missing, doubt] = estimate.standard_error[order]
    assert (found[True, 0.0] < 0.4 * found[False, 0.0]).all()
    assert found[True, 0.1][0] == pytest.approx(0.02, abs=0.006)


def test_noise_on_counts_that_nobody_has_does_not_lengthen_the_padding() -> None:
    """Seeded. 20,000 reports at epsilon 1 about 0 to 64 candidates, of which sets hold 2 to 6.

    Noise gives half of the other counts some part of the users; with these left in, the median is above 30.
    """
    svim = method("svim", domain=200, k=32, k_max=64, epsilon=1.0)
    counting = Inquiry(phase=2, candidates=np.arange(64), padding=1)
    before = RankingEstimate(items=np.arange(64), frequency=np.zeros(64), standard_error=np.ones(64))
    rng = np.random.default_rng(0)
    paddings = []
    for seed in range(5):
        held = [list(range(count)) for count in rng.integers(2, 7, size=20_000).tolist()]
        sums = answers_of(svim, counting, held, seed=seed)
        _, inquiry = svim.solve(counting, sums=sums, reports=20_000, before=before)
        assert inquiry is not None
        paddings.append(inquiry.padding)
    assert np.median(paddings) < 12


def test_without_counts_sets_are_padded_to_the_number_of_candidates() -> None:
    nothing: NDArray[np.int64] = np.zeros(LEARNING.oracle(COUNTING).counters, dtype=np.int64)
    _, inquiry = LEARNING.solve(COUNTING, sums=nothing, reports=0, before=BEFORE)
    assert inquiry is not None
    assert (inquiry.padding, inquiry.correction) == (8, 1.0)


def test_frequencies_of_phase_1_count_only_where_the_set_size_is_known() -> None:
    inquiry = Inquiry(phase=3, candidates=BEFORE.items, padding=2)
    sums = answers_of(LEARNING, inquiry, [[0, 1], [0], [0], []] * 250)
    alone, end = LEARNING.solve(inquiry, sums=sums, reports=1_000, before=BEFORE)
    assert end is None
    fresh = 2 * LEARNING.oracle(inquiry).estimate(sums, reports=1_000)
    assert alone.frequency == pytest.approx(np.sort(fresh)[::-1])

    knowing = method("svim", domain=40, k=4, k_max=8, epsilon=18.0, set_size=2)
    both, _ = knowing.solve(inquiry, sums=sums, reports=1_000, before=BEFORE)
    first = both.frequency[both.items.tolist().index(0)]
    assert 0.3 < first < fresh[0]
    assert (both.standard_error[2:] < 0.001).all()


@pytest.mark.parametrize("power", [1.6, pytest.param(2.2, marks=pytest.mark.long), 9.0])
@pytest.mark.parametrize("error", [0.004, 0.02])
def test_a_long_tail_of_lengths_that_is_lost_in_noise_is_in_doubt(error: float, power: float) -> None:
    """Seeded. Of 200 draws, the interval of the right correction reaches it in nine of ten or more.

    Four in five users hold 1 to 64 candidates by a power law. Of 180 expected, 4.5 standard errors are 19.
    """
    counts = np.arange(65)
    share = np.append(0.2, 0.8 * counts[1:] ** -power / (counts[1:] ** -power).sum())
    rng, held = np.random.default_rng(1), 0
    for _ in range(200):
        padding, correction, doubt = lengths(share + rng.normal(0.0, error, 65), error=error)
        right = (share @ counts) / (share @ np.minimum(counts, padding))
        held += right <= correction * (1.0 + 1.96 * np.hypot(doubt, 1.0 - 1.0 / correction))
    assert held > 180 - 19


def test_sets_that_all_fit_leave_no_doubt() -> None:
    assert lengths(np.array([0.1, 0.6, 0.3]), error=0.01).doubt == 0.0
    exact = np.zeros(31)
    exact[1], exact[2] = 0.6, 0.3
    assert lengths(exact, error=1e-5).doubt < 0.01


def test_the_correction_for_larger_sets_adds_its_doubt_to_the_standard_error() -> None:
    """What the correction adds is in doubt, but no more than that: of 1.5 times a frequency, a third."""
    subject = method("svim", domain=40, k=2, epsilon=2.0)
    candidates = np.arange(4)
    before = RankingEstimate(items=candidates, frequency=np.full(4, 0.2), standard_error=np.full(4, 0.1))
    certain, corrected = (
        Inquiry(phase=3, candidates=candidates, padding=2, correction=correction) for correction in (1.0, 1.5)
    )
    oracle = subject.oracle(certain)
    rows = oracle.perturb(np.repeat(candidates, (60, 30, 10, 0)), entropy=SeededEntropy(3))
    sums = oracle.sums(rows)
    plain, _ = subject.solve(certain, sums=sums, reports=len(rows), before=before)
    doubtful, _ = subject.solve(corrected, sums=sums, reports=len(rows), before=before)
    assert doubtful.frequency == pytest.approx(1.5 * plain.frequency)
    assert (doubtful.standard_error[:3] > 1.02 * 1.5 * plain.standard_error[:3]).all()
    assert (doubtful.standard_error <= np.hypot(1.5 * plain.standard_error, doubtful.frequency / 3)).all()


def test_phases_ask_the_published_shares_of_users_with_all_of_epsilon() -> None:
    phases = build("svim").phases
    assert [phase.part for phase in phases] == pytest.approx([0.4, 0.1, 0.5], abs=1e-9)
    assert [phase.epsilon for phase in phases] == pytest.approx([2.0, 2.0, 2.0])
    # Users of one phase are not those of another.
    shares = [phase.share for phase in phases]
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(shares))


def test_options_left_out_take_defaults_that_fit_the_domain() -> None:
    svim = method("svim", domain=100, k=10, epsilon=1.0, set_size=7)
    assert isinstance(svim, SVIM)
    assert (svim.k_max, svim.set_size, svim.hash_bits) == (20, 7, None)


@pytest.mark.parametrize("epsilon", [0.001, 22.0])
@pytest.mark.parametrize("hash_bits", [None, 1, 8])
def test_a_method_built_at_the_limits_of_its_options_has_usable_oracles(
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
