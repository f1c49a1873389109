"""Tests of LDPMiner, which asks all users twice, with half of epsilon each time."""

import numpy as np
import pytest

from stream_ldp.mechanisms import HadamardResponse, UnaryResponse
from stream_ldp.sets.methods.ldpminer import LDPMiner
from stream_ldp.sets.phases import Inquiry
from tests.sets.methods.examples import build, method


def test_both_phases_ask_all_users_with_half_of_epsilon() -> None:
    phases = build("ldpminer").phases
    assert [phase.part for phase in phases] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert [phase.epsilon for phase in phases] == pytest.approx([1.0, 1.0])


def test_the_papers_form_is_sampling_sh_and_then_rappor() -> None:
    published = build("ldpminer", hash_bits=1, combine="paper")
    inquiry = Inquiry(phase=2, candidates=np.arange(12), padding=12)
    assert isinstance(published.oracle(published.first()), HadamardResponse)
    assert isinstance(published.oracle(inquiry), UnaryResponse)


def test_options_left_out_take_defaults_that_fit_the_domain() -> None:
    ldpminer = method("ldpminer", domain=100, k=10, epsilon=1.0, set_size=7)
    assert isinstance(ldpminer, LDPMiner)
    assert (ldpminer.k_max, ldpminer.combine, ldpminer.hash_bits) == (30, "variance", None)


@pytest.mark.parametrize("epsilon", [0.001, 22.0])
def test_a_method_built_at_the_limits_of_its_options_has_a_usable_oracle(epsilon: float) -> None:
    ldpminer = method("ldpminer", domain=4, k=2, epsilon=2 * epsilon, set_size=2)
    p, q = ldpminer.oracle(Inquiry(phase=2, candidates=np.arange(4), padding=4)).support
    assert p > q
