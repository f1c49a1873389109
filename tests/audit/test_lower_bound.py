"""The auditor: how close it comes to epsilon, how often it is wrong, and that it sees what it is there for.

All randomness is seeded, so that a test gives the same result in every run. The stated rates are those at which it
would fail with another seed.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from stream_ldp.audit.lower_bound import audit
from stream_ldp.mechanisms import RRLDP, SeededEntropy
from tests.audit.test_attacks import LOW_NOISE, PERMANENT_ALONE, SURVEY, plan


@pytest.mark.parametrize("parameters", [SURVEY, PERMANENT_ALONE, pytest.param(LOW_NOISE, marks=pytest.mark.long)])
@pytest.mark.parametrize("neighbours", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_million_reports_come_within_3_percent_of_epsilon(parameters: dict[str, float], neighbours: int) -> None:
    """Over 40 seeds, the bound of two attributes was 0.990 of epsilon, with a deviation of 0.006; the least 0.978."""
    attack = next(each for each in plan(RRLDP(sizes=(2, 3), **parameters), 1) if each.neighbours == neighbours)
    found = attack.run(trials=1_000_000, confidence=0.99, entropy=SeededEntropy(2))
    assert 0.97 * attack.claimed <= found.epsilon <= attack.claimed


@pytest.mark.parametrize("parameters", [SURVEY, pytest.param(PERMANENT_ALONE, marks=pytest.mark.long)])
def test_a_bound_is_above_epsilon_no_more_often_than_its_confidence_allows(parameters: dict[str, float]) -> None:
    """With 10 % allowed, and about 8 % measured. By chance, more than 43 of 200 are above once in a million."""
    mechanism = RRLDP(sizes=(2,), **parameters)
    above = 0
    for seed in range(200):
        attack, *_ = plan(mechanism, seed)
        found = attack.run(trials=5_000, confidence=0.9, entropy=SeededEntropy(10_000 + seed))
        above += found.epsilon > attack.claimed
    assert above <= stats.binom.isf(1e-6, 200, 0.1)


def test_the_users_that_a_rule_is_learnt_from_do_not_count_as_its_proof() -> None:
    """Half of the users say all, the other half nothing: what the rule has learnt must not be its proof."""
    trials, asked = 1_000, 0

    class Forgetful:
        def __call__(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
            nonlocal asked
            asked += users
            says = history[0, 0] if asked <= 2 * trials else 0
            return np.full((users, 1, 1), says, dtype=np.uint8)

    histories = np.array([[0]]), np.array([[1]])
    found = audit(Forgetful(), [histories], trials=trials, confidence=0.99, entropy=SeededEntropy(1), chunk=100)
    assert asked == 4 * trials
    assert found.epsilon == 0


def test_a_value_that_is_sent_in_the_clear_is_detected() -> None:
    """All of 2,000 guesses right: an epsilon below ln(2000 / ln 100) = 6.07 is ruled out with confidence 0.99."""

    class Plain:
        def __call__(self, history: NDArray[np.intp], users: int) -> NDArray[np.uint8]:
            return np.tile(history.astype(np.uint8), (users, 1, 1))

    histories = np.array([[0]]), np.array([[1]])
    found = audit(Plain(), [histories], trials=1_000, confidence=0.99, entropy=SeededEntropy(1))
    assert found.guesses == found.right == 2_000
    assert found.epsilon == pytest.approx(6.07, abs=0.01)


@pytest.mark.parametrize(("trials", "confidence"), [(99, 0.99), (1_000, 0.0), (1_000, 1.0)])
def test_a_bound_with_too_few_trials_or_an_invalid_confidence_is_refused(trials: int, confidence: float) -> None:
    attack, *_ = plan(RRLDP(sizes=(2,), **SURVEY), 1)
    with pytest.raises(ValueError, match=r"trials are needed|between 0 and 1"):
        attack.run(trials=trials, confidence=confidence, entropy=SeededEntropy(1))
