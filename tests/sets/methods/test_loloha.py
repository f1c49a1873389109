"""LOLOHA as a method: one phase, which memoises."""

from __future__ import annotations

import math
from typing import Any

import pytest

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.sets.phases import epoch_epsilon, epochs_epsilon
from tests.sets.methods.examples import build


def test_it_asks_all_users_in_one_phase() -> None:
    (phase,) = build("loloha").phases
    assert phase.share == (0, RESOLUTION)
    assert phase.memoised is not None


def test_all_epochs_cost_what_the_file_says_or_twice_as_much_as_one() -> None:
    assert epochs_epsilon(build("loloha", for_ever=3.0), epochs=math.inf) == pytest.approx(3.0, abs=1e-8)
    assert epochs_epsilon(build("loloha"), epochs=math.inf) == pytest.approx(4.0, abs=1e-8)
    assert epochs_epsilon(build("loloha"), epochs=1) == pytest.approx(epoch_epsilon(build("loloha")), abs=1e-8)
    assert epochs_epsilon(build("svim"), epochs=math.inf) == math.inf
    assert epochs_epsilon(build("svim"), epochs=3) == 6.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"for_ever": 2.0}, "one report has to cost less than all of them"),
        ({"for_ever": 30.0}, "beyond the resolution"),
        ({"k_max": 9}, "no candidates: leave it out"),
        ({"hash_bits": 2}, "loloha has no hash_bits: leave it out"),
        ({"set_size": None}, "loloha needs set_size"),
        ({"epsilon": 25.0}, "epsilon"),
    ],
)
def test_an_impossible_option_is_refused_with_what_is_possible(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build("loloha", **changes)
