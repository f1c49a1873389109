"""A whole set's report: its exact output distribution by enumeration, and what is estimated from it."""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from stream_ldp.audit.output_distribution import epsilon_of, realised_set_distribution
from stream_ldp.mechanisms import GivenWords, SeededEntropy, SetHadamardResponse
from stream_ldp.mechanisms.randomizer import OutputDistribution
from stream_ldp.sets.item_sets import ItemSets

SIZE = 4
ORACLE = SetHadamardResponse(size=SIZE, slots=2, epsilon=1.0, hash_bits=2)
SETS = [subset for count in range(SIZE + 1) for subset in itertools.combinations(range(SIZE), count)]


@lru_cache
def outputs() -> OutputDistribution:
    """P(report | set), by all decisions of the code: the rows, which hashes are kept, whether one is sent, which."""
    return realised_set_distribution(ORACLE, SETS, padding=ORACLE.slots)


def _report(held: tuple[int, ...], words: list[int]) -> int:
    sets, given = ItemSets.of([held]), GivenWords(np.array(words, dtype=np.uint32))
    return int(ORACLE.perturb_sets(sets.offsets, sets.items, padding=ORACLE.slots, entropy=given)[0, 0])


def test_output_distributions_of_any_two_sets_differ_by_at_most_epsilon() -> None:
    assert {sum(row) for row in outputs().tolist()} == {1}
    assert epsilon_of(outputs()) == pytest.approx(ORACLE.epsilon, abs=1e-12)
    assert 1.0 - 1e-8 < ORACLE.epsilon <= 1.0


def test_one_of_the_sets_hashes_is_sent_exactly_for_words_below_the_joint_threshold() -> None:
    rows = [1, 2]  # items are their own hashes
    for held, kept in (((3,), 1), ((0, 3), 2)):
        edge = kept * ORACLE.kept
        last, beyond = (_report(held, [*rows, word, 0]) >> 4 for word in (edge - 1, edge))
        assert last in held
        assert beyond not in held


@pytest.mark.parametrize("held", [held for held in SETS if len(held) <= ORACLE.slots])
def test_a_held_item_is_supported_with_probability_p_and_any_other_with_q(held: tuple[int, ...]) -> None:
    p, q = ORACLE.support
    reports = np.arange(2**ORACLE.bits, dtype=np.uint8)[:, None]
    support = outputs()[SETS.index(held)].astype(np.float64) @ ORACLE.supported(reports, np.arange(SIZE))
    assert support == pytest.approx([p if item in held else q for item in range(SIZE)], abs=1e-12)


def test_sets_of_up_to_l_items_are_estimated_without_bias_and_larger_ones_too_low() -> None:
    """Seeded. Of 200 mean z values of 40 runs, one beyond 4 comes up once in 80 such tests."""
    oracle = SetHadamardResponse(size=50, slots=8, epsilon=2.0, hash_bits=6)
    rng = np.random.default_rng(3)
    sets = ItemSets.of([rng.choice(25, size=rng.integers(9), replace=False).tolist() for _ in range(2_000)])
    truth = sets.frequencies(50)
    scores = []
    for seed in range(40):
        rows = oracle.perturb_sets(sets.offsets, sets.items, padding=8, entropy=SeededEntropy(seed))
        assert oracle.valid(rows).all()
        estimate = oracle.estimate(oracle.sums(rows), reports=len(rows))
        scores.append((estimate - truth) / oracle.standard_errors(truth, reports=len(rows)))
    assert np.abs(np.mean(scores, axis=0) * math.sqrt(40)).max() < 4.0
    assert np.std(scores) == pytest.approx(1.0, abs=0.06)

    crowded = ItemSets.of([range(24)] * 2_000)
    rows = oracle.perturb_sets(crowded.offsets, crowded.items, padding=8, entropy=SeededEntropy(0))
    estimate = oracle.estimate(oracle.sums(rows), reports=len(rows))
    assert 8 / 24 - 0.05 < estimate[:24].mean() < 0.6


def test_a_value_is_reported_as_a_set_of_one_and_a_dummy_as_an_empty_set() -> None:
    values = np.array([0, 3, 4, 2])
    rows = ORACLE.perturb(values, entropy=SeededEntropy(1))
    sets = ItemSets.of([[0], [3], [], [2]])
    assert (
        rows.tolist() == ORACLE.perturb_sets(sets.offsets, sets.items, padding=2, entropy=SeededEntropy(1)).tolist()
    )


def test_the_variance_grows_with_l_and_not_with_its_square() -> None:
    """The point of it: against one of l slots sampled and hashed."""

    def variance(slots: int, hash_bits: int) -> float:
        p, q = SetHadamardResponse(size=2**12, slots=slots, epsilon=2.0, hash_bits=hash_bits).support
        return q * (1 - q) / (p - q) ** 2

    assert variance(16, 7) / variance(4, 5) == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slots": 0}, "2 bits of hash are for 1 to 3 slots, got 0"),
        ({"slots": 4}, "2 bits of hash are for 1 to 3 slots, got 4"),
        ({"hash_bits": 9}, "a hash has 1 to 8 bits"),
        ({"epsilon": 40.0}, "beyond the resolution"),
        ({"epsilon": 0.0}, "positive"),
        ({"size": 0}, "got size=0"),
    ],
)
def test_impossible_parameters_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SetHadamardResponse(**{"size": SIZE, "slots": 2, "epsilon": 1.0, "hash_bits": 2, **changes})  # type: ignore[arg-type]
