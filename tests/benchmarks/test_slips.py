"""What the papers print and must not be followed in, each shown by enumeration or by exact variances.

tests/benchmarks/papers/slips.py lists all of them, with these tests and those that stood elsewhere.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from stream_ldp.mechanisms import DirectResponse, HadamardResponse, SubsetResponse, Support, UnaryResponse
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import estimator
from tests.benchmarks.papers.plain import ByRow

F, P, Q = Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)
#: Two records of two binary attributes that differ in both, as one-hot codes.
FIRST, SECOND = (1, 0, 1, 0), (0, 1, 0, 1)


def permanent(bit: int) -> dict[int, Fraction]:
    return {bit: 1 - F / 2, 1 - bit: F / 2}


def sent(bit: int, report: int) -> Fraction:
    one = Q if bit else P
    return one if report else 1 - one


def chance(code: tuple[int, ...], reports: tuple[tuple[int, ...], ...]) -> Fraction:
    """The chance of all reports of a user, who keeps the permanent response (Algorithm 1)."""
    found = Fraction(1)
    for place, bit in enumerate(code):
        found *= sum(
            chance * math.prod(sent(kept, report[place]) for report in reports)
            for kept, chance in permanent(bit).items()
        )
    return found


def as_printed(code: tuple[int, ...], reports: tuple[tuple[int, ...], ...]) -> Fraction:
    """The same if the second stage looks at the record's own bits, as eq. 7 is printed."""
    return math.prod(
        (sent(bit, report[place]) for report in reports for place, bit in enumerate(code)), start=Fraction(1)
    )


def loss(of: Callable[..., Fraction], *, reports: int) -> float:
    """The loss of two records that differ in both attributes, over all outcomes: of each bit by itself."""
    outcomes = itertools.product(itertools.product((0, 1), repeat=1), repeat=reports)
    ratios = [of(FIRST[:1], each) / of(SECOND[:1], each) for each in outcomes]
    return len(FIRST) / 2 * (math.log(max(ratios)) - math.log(min(ratios)))


ONE, ZERO = F * (P + Q) / 2 + (1 - F) * Q, F * (P + Q) / 2 + (1 - F) * P
#: Eqs. 10 and 11, of two attributes.
FOR_EVER = 2 * 2 * math.log((2 - F) / F)
ONE_REPORT = math.log(ONE * (1 - ZERO) / (ZERO * (1 - ONE)))


def test_one_report_costs_eq_11_for_each_attribute() -> None:
    reports = list(itertools.product((0, 1), repeat=4))
    enumerated = max(math.log(chance(FIRST, (each,)) / chance(SECOND, (each,))) for each in reports)
    assert enumerated == pytest.approx(loss(chance, reports=1))
    assert enumerated == pytest.approx(2 * ONE_REPORT)


def test_no_number_of_reports_costs_the_sum_of_both_stages() -> None:
    losses = [loss(chance, reports=reports) for reports in (1, 2, 3, 8)]
    assert losses == sorted(losses)
    assert losses[-1] < FOR_EVER < FOR_EVER + ONE_REPORT


def test_a_second_stage_on_the_record_itself_as_printed_has_no_bound() -> None:
    assert loss(as_printed, reports=8) == pytest.approx(8 * loss(as_printed, reports=1))
    assert loss(as_printed, reports=8) > FOR_EVER > loss(chance, reports=8)


def test_eq_8_is_the_chance_of_a_report_and_not_of_the_bit_behind_it() -> None:
    """Of four equally frequent values, one bit in four is set."""
    reported = chance((1,), ((1,),))
    behind = reported / (reported + 3 * chance((0,), ((1,),)))
    assert reported == ONE
    assert behind != ONE


def example(
    f: float, *, sizes: tuple[int, ...], reports: int
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.bool_]], Support]:
    """Bits of reports about records that all have their first values or their last ones."""
    rng = np.random.default_rng(1)
    support = Support.of_bits(one=f / 2 * (0.5 + 0.75) + (1 - f) * 0.75, zero=f / 2 * (0.5 + 0.75) + (1 - f) * 0.5)
    last = rng.random(reports) < 0.3
    hot = np.concatenate([np.eye(size, dtype=bool)[np.where(last, size - 1, 0)] for size in sizes], axis=1)
    return rng.random(hot.shape) < np.where(hot, support.one, support.zero), support


def test_the_printed_rule_stops_while_cells_move_and_never_where_they_stand() -> None:
    sizes, delta = (2, 2), 0.001
    bits, support = example(0.1, sizes=sizes, reports=2_000)
    step = ByRow(bits, sizes, [support] * 2, np.arange(4)).step
    path = [np.full(4, 0.25)]
    for _ in range(400):
        path.append(step(path[-1], check=lambda: None))
    rises = [after.max() - before.max() for before, after in itertools.pairwise(path)]
    moves = [np.abs(after - before).max() for before, after in itertools.pairwise(path)]
    assert rises[0] >= delta  # the printed condition ends at the first step
    assert moves[1] > 10 * delta
    assert moves[-1] < delta / 10
    assert max(rises[-10:]) < delta  # and is never met again


def test_cells_may_move_while_the_largest_does_not() -> None:
    """The difference of the maxima says nothing of the other cells."""
    before, after = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.2, 0.3])
    assert after.max() - before.max() == 0.0
    assert np.abs(after - before).max() == pytest.approx(0.3)


def test_the_papers_rule_ends_after_one_step_on_more_than_1_over_delta_cells() -> None:
    """64 cells, of which none can be as much as delta = 1/50 above the start after a step on noise."""
    sizes = (2,) * 6
    bits, support = example(0.9, sizes=sizes, reports=500)
    counts = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=12)
    found = {
        delta: estimator("em", stop="paper", delta=delta).estimate(counts, sizes=sizes, supports=[support] * 6)
        for delta in (0.02, 1e-4)
    }
    assert found[0.02].iterations == 1
    assert found[1e-4].iterations > 10
    assert np.abs(found[0.02].joint - found[1e-4].joint).sum() > 0.2


def test_the_bound_of_eq_1_is_attained() -> None:
    """Sampling SH has outcomes whose chances differ by exactly its epsilon, so that `<` is true of none."""
    response = HadamardResponse(size=4, epsilon=1.0, hash_bits=1)
    stated = response.stated()
    ratios = [max(column) / min(column) for column in zip(*map(list, stated), strict=True) if min(column)]
    assert math.log(max(ratios)) == pytest.approx(response.epsilon)


def test_random_signs_bias_every_estimate_and_orthogonal_ones_none() -> None:
    """The estimate of a value that nobody has is the product of its column with that of the one that all have."""
    random = np.random.default_rng(1).choice([-1, 1], (64, 50))
    orthogonal = np.array([[1]])
    while len(orthogonal) < 64:
        orthogonal = np.block([[orthogonal, orthogonal], [orthogonal, -orthogonal]])
    biases = [np.abs(matrix[:, 0] @ matrix[:, 1:50] / 64) for matrix in (random, orthogonal)]
    assert biases[0].mean() > 0.05
    assert biases[1].max() == 0.0


@pytest.mark.parametrize(("epsilon", "better"), [(0.5, "rappor"), (2.0, "rappor"), (6.0, "k-rr")])
def test_k_rr_is_for_large_budgets_and_rappor_for_small_ones(epsilon: float, better: str) -> None:
    """Of 50 values, whose logarithm is 3.9: the survey has it the other way round."""
    direct = DirectResponse(size=50, epsilon=epsilon).mean_variance
    unary = UnaryResponse(size=50, epsilon=epsilon).mean_variance
    assert better == ("k-rr" if direct < unary else "rappor")


def test_two_texts_share_the_hashes_of_all_cohorts_with_k_to_the_minus_c() -> None:
    cohorts, buckets = 2, 3
    hashes = list(itertools.product(range(buckets), repeat=2 * cohorts))
    shared = sum(each[:cohorts] == each[cohorts:] for each in hashes)
    assert Fraction(shared, len(hashes)) == Fraction(1, buckets**cohorts) != Fraction(1, cohorts)


def test_a_report_of_k_subset_grows_with_the_number_of_values() -> None:
    """The survey has it at O(1), as k-RR, which takes the logarithm."""
    subset = [SubsetResponse(size=size, epsilon=1.0, members=size // 4).bits for size in (16, 64, 256)]
    direct = [DirectResponse(size=size, epsilon=1.0).bits for size in (16, 64, 256)]
    assert subset == [16, 64, 256]
    assert direct == [4, 6, 8]
