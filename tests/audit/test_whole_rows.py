"""Whole rows are enumerated and attacked, also those of a kind that the package does not know."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms import Entropy, SeededEntropy
from tests.audit.whole_rows import WholeRows
from tests.toy import Coins


def claims_of(coins: Coins) -> WholeRows:
    found = kind_of(coins).claims(coins)
    assert isinstance(found, WholeRows)
    return found


def test_a_kind_that_the_package_does_not_know_is_enumerated_and_attacked(coins: Coins) -> None:
    entropy = SeededEntropy(1)
    claims = claims_of(coins)
    exact = claims.enumerated()
    assert exact.disproved == []
    assert exact.claims[0].enumerated == pytest.approx(np.log(3), abs=1e-9)
    (attack,) = claims.attacks(noise=lambda: entropy, secrets=entropy)
    found = attack.run(trials=20_000, confidence=0.9999, entropy=entropy)
    assert 0.9 * np.log(3) < found.epsilon <= np.log(3)


def test_a_row_that_shows_more_than_is_claimed_is_disproved(coins: Coins) -> None:
    claims = claims_of(coins)

    def twice(table: NDArray[Any], entropy: Entropy) -> NDArray[np.uint8]:
        return np.concatenate([claims.rows(table, entropy) for _ in range(2)], axis=1)

    (found,) = replace(claims, rows=twice).enumerated().disproved
    assert found.enumerated == pytest.approx(2 * np.log(3), abs=1e-9)
