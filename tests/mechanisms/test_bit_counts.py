"""The test against poisoning: it flags what it claims to, and honest users no more often than it says."""

import functools
import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, kstest, multinomial

from stream_ldp.mechanisms import RRLDP, SeededEntropy, Support
from stream_ldp.mechanisms.bit_counts import (
    BATCH_LIMIT,
    batch_scores,
    bit_count_distribution,
    check,
)
from stream_ldp.mechanisms.plausibility import FALSE_ALARM_RATE, PlausibilityTest
from stream_ldp.pipeline.statistics import RowCounts
from tests.benchmarks.poisoning import MECHANISMS, POPULATION, SIZES, Attack, crafted, frequencies, honest

PAPER, LIGHT = MECHANISMS
PERMANENT_ONLY = RRLDP(sizes=SIZES, f=0.05)


def plausibility(
    counts: RowCounts, *, sizes: tuple[int, ...], channel: Support, design_effect: float = 1.0
) -> PlausibilityTest:
    return check(counts.unpacked(), counts.counts, sizes=sizes, channel=channel, design_effect=design_effect)


def p_value(rows: NDArray[np.uint8], mechanism: RRLDP, *, effect: float = 1.0) -> float:
    counts = RowCounts.of(rows, bits=mechanism.bits)
    return plausibility(counts, sizes=mechanism.sizes, channel=mechanism.channel(), design_effect=effect).p_value


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_distribution_of_set_bits_is_that_of_all_reports_of_any_value(size: int) -> None:
    channel = Support.of_bits(one=0.6875, zero=0.5625)
    for value in range(size):
        chances = [channel.one if bit == value else channel.zero for bit in range(size)]
        distribution = np.zeros(size + 1)
        for report in itertools.product((0, 1), repeat=size):
            distribution[sum(report)] += math.prod(
                chance if bit else 1 - chance for bit, chance in zip(report, chances, strict=True)
            )
        np.testing.assert_allclose(bit_count_distribution(size, channel), distribution, rtol=1e-12)


@pytest.mark.parametrize("mechanism", [PAPER, LIGHT, PERMANENT_ONLY])
@pytest.mark.parametrize("rarest", [False, True])
def test_p_values_of_honest_windows_are_uniform_whatever_the_users_have(mechanism: RRLDP, rarest: bool) -> None:
    """Kolmogorov-Smirnov at 1e-6 on 300 seeded windows; the next test is about the tail."""
    rng = np.random.default_rng(4)
    kind = Attack.FALSE_VALUE if rarest else Attack.NONE
    windows = np.split(crafted(kind, mechanism, 300 * 500, rng), 300)
    assert kstest([p_value(rows, mechanism) for rows in windows], "uniform").pvalue > 1e-6


@pytest.mark.parametrize("channel", [PAPER.channel(), LIGHT.channel(), RRLDP(sizes=(2,), f=0.5).channel()])
@pytest.mark.parametrize(("reports", "attributes", "factor"), [(29, 1, 5.9), (58, 1, 2.4), (58, 20, 2.4)])
def test_honest_windows_are_flagged_about_as_rarely_as_stated_however_few_the_reports(
    channel: Support, reports: int, attributes: int, factor: float
) -> None:
    """Exact: all outcomes of a binary attribute with their probabilities, then the sum of independent attributes."""
    distribution = bit_count_distribution(2, channel)
    rows = np.array([[0b00], [0b01], [0b11]], dtype=np.uint8)
    outcomes = np.array([(a, b, reports - a - b) for a in range(reports + 1) for b in range(reports + 1 - a)])
    results = [
        plausibility(
            RowCounts(bits=2, rows=rows[outcome > 0], counts=outcome[outcome > 0]), sizes=(2,), channel=channel
        )
        for outcome in outcomes
    ]
    step = 0.01
    cells = np.zeros(2**16)
    places = np.round(np.array([result.statistic for result in results]) / step).astype(int)
    np.add.at(cells, np.minimum(places, len(cells) - 1), multinomial(reports, distribution).pmf(outcomes))
    summed = np.fft.irfft(np.fft.rfft(cells, 2 * len(cells)) ** attributes)
    limit = chi2.isf(FALSE_ALARM_RATE, attributes * results[0].degrees_of_freedom)
    assert summed[math.ceil(limit / step) :].sum() <= factor * FALSE_ALARM_RATE


@pytest.mark.parametrize("sizes", [(2,), (8, 2), SIZES])
def test_too_few_reports_are_a_normal_result_without_a_flag(sizes: tuple[int, ...]) -> None:
    channel = PAPER.channel()
    assert plausibility(RowCounts.empty(sum(sizes)), sizes=sizes, channel=channel).p_value == 1.0
    rows = np.full((5, math.ceil(sum(sizes) / 8)), 255, dtype=np.uint8)
    rows[:, -1] >>= -sum(sizes) % 8
    few = plausibility(RowCounts.of(rows, bits=sum(sizes)), sizes=sizes, channel=channel)
    assert (few.degrees_of_freedom, few.p_value, few.flagged) == (0, 1.0, False)


def test_an_attribute_with_more_values_than_a_byte_can_count_is_not_flagged() -> None:
    mechanism = RRLDP(sizes=(600, 2), f=0.5, p=0.5, q=0.75)
    values = np.random.default_rng(5).integers(2, size=(2_000, 2))
    assert p_value(mechanism.perturb(values, entropy=SeededEntropy(5)), mechanism) > FALSE_ALARM_RATE


def test_windows_with_memory_are_flagged_no_more_often_than_others() -> None:
    """Kolmogorov-Smirnov at 1e-6 on 200 seeded windows, each with two before it at weights 1/2 and 1/4."""
    rng = np.random.default_rng(6)
    weights, sizes = (1.0, 0.5, 0.25), (400, 600, 800)
    scale = np.dot(weights, sizes) / np.dot(np.square(weights), sizes)
    p_values = []
    for _ in range(200):
        parts = [
            RowCounts.of(honest(PAPER, size, rng), bits=PAPER.bits).scaled(scale * weight)
            for size, weight in zip(sizes, weights, strict=True)
        ]
        counts = RowCounts.sum(parts, bits=PAPER.bits)
        p_values.append(plausibility(counts, sizes=SIZES, channel=PAPER.channel()).p_value)
    assert kstest(p_values, "uniform").pvalue > 1e-6


def repeated(mechanism: RRLDP, *, users: int, each: int, seed: int) -> NDArray[np.uint8]:
    """Users who send `each` reports of one permanent response."""
    rng = np.random.default_rng(seed)
    entropy = SeededEntropy(seed)
    values = np.column_stack([rng.choice(len(share), size=users, p=share) for share in POPULATION])
    words = entropy.words(users * mechanism.bits).reshape(users, -1)
    return mechanism.perturb(
        np.repeat(values, each, axis=0), entropy=entropy, permanent_words=np.repeat(words, each, axis=0)
    )


@pytest.mark.parametrize(("mechanism", "each"), [(PERMANENT_ONLY, 5), (RRLDP(sizes=SIZES, f=0.9, p=0.1, q=0.9), 9)])
def test_users_who_report_repeatedly_are_flagged_unless_the_design_effect_is_given(
    mechanism: RRLDP, each: int
) -> None:
    """With it, at most 10 of 100 seeded windows have p < 0.01: more happen by chance with probability below 1e-7."""
    windows = [repeated(mechanism, users=400, each=each, seed=seed) for seed in range(100)]
    effect = mechanism.design_effect(reports_per_user=each)
    assert sum(p_value(rows, mechanism, effect=effect) < 0.01 for rows in windows) <= 10
    assert np.median([p_value(rows, mechanism) for rows in windows]) < FALSE_ALARM_RATE


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize(("f", "p", "q"), [(0.5, 0.5, 0.75), (0.25, 0.25, 0.75), (0.02, 0.1, 0.9), (0.5, None, None)])
def test_the_design_effect_bounds_what_two_reports_of_a_user_share(
    size: int, f: float, p: float | None, q: float | None
) -> None:
    """Exact: the largest correlation of any function of the number of set bits with itself in the next report."""
    mechanism = RRLDP(sizes=(size,), f=f, p=p, q=q)
    low, high = mechanism.response
    together = np.zeros((size + 1, size + 1))
    for permanent in itertools.product((0, 1), repeat=size):
        flips = sum(permanent[1:]) + (1 - permanent[0])
        weight = mechanism.flip**flips * (1 - mechanism.flip) ** (size - flips)
        distribution = np.array([1.0])
        for bit in permanent:
            one = high if bit else low
            distribution = np.convolve(distribution, (1 - one, one))
        together += weight * np.outer(distribution, distribution)
    alone = np.sqrt(together.sum(axis=1))
    _, largest = np.sort(np.linalg.eigvalsh(together / np.outer(alone, alone)))[::-1][:2]
    bound = mechanism.design_effect(reports_per_user=2) - 1
    assert 0.85 * bound <= largest <= bound + 1e-12


def poisoned(
    attack: Attack, share: float, mechanism: RRLDP, *, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """20,000 honest reports, and the same with a share of the users malicious."""
    rng = np.random.default_rng(seed)
    rows = honest(mechanism, 20_000, rng)
    malicious = round(share * len(rows))
    return rows, np.concatenate((crafted(attack, mechanism, malicious, rng), rows[malicious:]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mechanism", [PAPER, LIGHT])
@pytest.mark.parametrize(
    ("attack", "share"),
    [(Attack.ALL_BITS, 0.01), (Attack.ALL_BITS, 0.05), (Attack.TARGET_ALONE, 0.05), (Attack.PADDED_TO_MEAN, 0.05)],
)
def test_reports_with_crafted_numbers_of_set_bits_are_flagged(
    attack: Attack, share: float, mechanism: RRLDP, seed: int
) -> None:
    """The benchmark's median p-values of these are below 1e-40."""
    _, rows = poisoned(attack, share, mechanism, seed=seed)
    assert p_value(rows, mechanism) < FALSE_ALARM_RATE


@pytest.mark.parametrize("mechanism", [PAPER, LIGHT])
@pytest.mark.parametrize(("attack", "gain"), [(Attack.PADDED_TO_DRAW, 0.05), (Attack.FALSE_VALUE, 0.02)])
def test_attacks_with_honest_numbers_of_set_bits_gain_and_are_not_flagged(
    attack: Attack, gain: float, mechanism: RRLDP
) -> None:
    """The module's head says that it cannot see these; uniform p-values fail a case with probability 1e-4."""
    target = SIZES[0] - 1
    for seed in range(10):
        rows, attacked = poisoned(attack, 0.05, mechanism, seed=seed)
        before, after = (
            frequencies(RowCounts.of(x, bits=mechanism.bits), mechanism)[target] for x in (rows, attacked)
        )
        assert after - before > gain
        assert p_value(attacked, mechanism) > 1e-5


def test_padding_to_the_mean_by_one_per_cent_of_few_users_is_rarely_flagged() -> None:
    """About 2.5 % of such samples are (5 of 200 seeds), so 3 or more of 10 with a chance of 0.002."""
    results = [p_value(poisoned(Attack.PADDED_TO_MEAN, 0.01, PAPER, seed=seed)[1], PAPER) for seed in range(10)]
    assert np.count_nonzero(np.array(results) <= FALSE_ALARM_RATE) < 3


@pytest.mark.parametrize("mechanism", [PAPER, PERMANENT_ONLY, RRLDP(sizes=(2, 3), f=0.5)])
def test_batch_scores_compare_each_batch_with_its_own_expectation(mechanism: RRLDP) -> None:
    channel = mechanism.channel()
    counts = np.array([1, 700, 3, 40])
    values = np.zeros((counts.sum(), len(mechanism.sizes)), dtype=np.int64)
    rows = mechanism.perturb(values, entropy=SeededEntropy(7))
    scores = batch_scores(rows, counts, sizes=mechanism.sizes, channel=channel)
    chances = np.concatenate([[channel.one] + [channel.zero] * (size - 1) for size in mechanism.sizes])
    for score, batch in zip(scores, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
        excess = np.unpackbits(batch).sum() - len(batch) * chances.sum()
        variance = len(batch) * (chances * (1 - chances)).sum()
        assert score == pytest.approx(excess / math.sqrt(variance + abs(excess) / 3))
    assert batch_scores(rows[:0], counts[:0], sizes=mechanism.sizes, channel=channel).shape == (0,)


@pytest.mark.parametrize("f", [0.01, 0.2])
@pytest.mark.parametrize("reports", [1, 2, 30])
def test_small_batches_of_little_noise_exceed_the_limit_no_more_often_than_stated(f: float, reports: int) -> None:
    """Exact, at every score that a batch can have; a plain z score fails it."""
    channel = RRLDP(sizes=(2,), f=f).channel()
    distribution = np.array([1.0])
    for _ in range(reports):
        distribution = np.convolve(distribution, bit_count_distribution(2, channel))
    scores = []
    for set_bits in range(2 * reports + 1):
        both = max(0, set_bits - reports)
        batch = np.array([0b11] * both + [0b01] * (set_bits - 2 * both) + [0] * (reports - set_bits + both))
        scores += batch_scores(
            batch[:, None].astype(np.uint8), np.array([reports]), sizes=(2,), channel=channel
        ).tolist()
    sizes = np.abs(scores)
    for size in sizes:
        assert distribution[sizes >= size].sum() <= 2 * math.exp(-(size**2) / 2) * (1 + 1e-9)
    assert 2 * math.exp(-(BATCH_LIMIT**2) / 2) == pytest.approx(1e-9)


@pytest.mark.parametrize("mechanism", [PAPER, LIGHT])
@pytest.mark.parametrize(
    ("attack", "is_flagged"),
    [(Attack.ALL_BITS, True), (Attack.TARGET_ALONE, True), (Attack.PADDED_TO_DRAW, False), (Attack.NONE, False)],
)
def test_only_batches_with_crafted_numbers_of_set_bits_are_beyond_the_limit(
    attack: Attack, is_flagged: bool, mechanism: RRLDP
) -> None:
    rows = crafted(attack, mechanism, 100 * 100, np.random.default_rng(8))
    scores = batch_scores(rows, np.full(100, 100), sizes=SIZES, channel=mechanism.channel())
    assert np.all((np.abs(scores) > BATCH_LIMIT) == is_flagged)


def test_a_batch_of_one_users_reports_is_judged_with_its_design_effect() -> None:
    rows = repeated(PERMANENT_ONLY, users=200, each=100, seed=9)
    effect = PERMANENT_ONLY.design_effect(reports_per_user=100)
    score = functools.partial(batch_scores, rows, np.full(200, 100), sizes=SIZES, channel=PERMANENT_ONLY.channel())
    assert np.any(np.abs(score()) > BATCH_LIMIT)
    assert np.all(np.abs(score(design_effect=effect)) < BATCH_LIMIT)


def test_arguments_that_do_not_fit_together_are_refused() -> None:
    channel = PAPER.channel()
    with pytest.raises(ValueError, match=r"sizes \(2, 2\) do not make rows of 5 bits"):
        plausibility(RowCounts.empty(5), sizes=(2, 2), channel=channel)
    rows = np.zeros((3, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="at least 1 report"):
        batch_scores(rows, np.array([3, 0]), sizes=(2, 2), channel=channel)
    with pytest.raises(ValueError, match="3 rows for batches of 4 reports"):
        batch_scores(rows, np.array([2, 2]), sizes=(2, 2), channel=channel)
    with pytest.raises(ValueError, match="reports_per_user=0"):
        PAPER.design_effect(reports_per_user=0)
