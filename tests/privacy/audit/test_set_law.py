"""What a response to a whole set tells: the law that is found from its code, and twins that tell more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.mechanisms import SeededEntropy, SetHadamardResponse
from stream_ldp.privacy.audit.chosen_words import UnknownLaw
from stream_ldp.privacy.audit.item_attacks import supported
from stream_ldp.privacy.audit.response_law import law_epsilon
from stream_ldp.privacy.audit.set_law import all_sets, answers_to, realised_set_law, stated_set_law
from tests.privacy.audit import broken

if TYPE_CHECKING:
    from stream_ldp.privacy.audit.response_law import Law

ORACLES = [
    SetHadamardResponse(size=4, slots=1, epsilon=1.0, hash_bits=1),
    SetHadamardResponse(size=5, slots=1, epsilon=1.0, hash_bits=2),
    SetHadamardResponse(size=5, slots=2, epsilon=0.5, hash_bits=2),
    SetHadamardResponse(size=5, slots=3, epsilon=2.0, hash_bits=2),
    SetHadamardResponse(size=4, slots=2, epsilon=3.0, hash_bits=3),
]


def realised(oracle: SetHadamardResponse) -> Law:
    sets = all_sets(oracle.size)
    return realised_set_law(oracle, sets, answers_to(oracle, sets))


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_a_set_loses_exactly_epsilon(oracle: SetHadamardResponse) -> None:
    law = realised(oracle)
    assert np.array_equal(law, stated_set_law(oracle, all_sets(oracle.size)))
    assert {sum(row) for row in law.tolist()} == {1}
    assert law_epsilon(law) == pytest.approx(oracle.epsilon, abs=1e-12, rel=0)


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_reports_of_sets_have_the_output_distribution_that_was_found(oracle: SetHadamardResponse) -> None:
    """100,000 reports of each of three sets: within 5.5 standard errors, for all but 1 seed in 10^4."""
    sets = all_sets(oracle.size)
    law = realised(oracle).astype(np.float64)
    for place in (0, 1, len(sets) - 1):
        offsets = np.arange(100_001) * len(sets[place])
        items = np.tile(np.array(sets[place], dtype=np.int64), 100_000)
        rows = oracle.perturb_sets(offsets, items, entropy=SeededEntropy(place))
        reports = rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))
        expected = 100_000 * law[place]
        distance = np.abs(np.bincount(reports, minlength=len(expected)) - expected)
        assert np.all(distance <= 5.5 * np.sqrt(expected))


def test_estimates_of_small_sets_are_unbiased_but_for_the_xor_of_three_items() -> None:
    """Exactly right for up to two items; of three, for all values but their exclusive or."""
    oracle = SetHadamardResponse(size=8, slots=3, epsilon=2.0, hash_bits=3)
    sets = [items for items in all_sets(8) if len(items) <= 3]
    rows = np.arange(2**oracle.bits, dtype="<u2").view(np.uint8).reshape(-1, 2)
    chances = stated_set_law(oracle, sets).astype(np.float64) @ supported(oracle, rows, np.arange(8))
    p, q = oracle.support
    for items, row in zip(sets, chances, strict=True):
        held = np.isin(np.arange(8), items)
        assert row[held] == pytest.approx(p, abs=1e-12)
        related = np.arange(8) == np.bitwise_xor.reduce(items) if len(items) == 3 else held
        assert row[~held & ~related] == pytest.approx(q, abs=1e-12)
        assert np.all(row[~held & related] < q)


@pytest.mark.parametrize("twin", [broken.KeepsAllHashes, broken.FavoursOneHash, broken.AnswersForAHigherEpsilon])
def test_a_broken_response_to_sets_is_caught(twin: type[SetHadamardResponse]) -> None:
    with pytest.raises(UnknownLaw):
        realised(twin(size=5, slots=2, epsilon=1.0, hash_bits=2))
