"""Mechanisms written in one word: each example is read, and a word that is not one is answered with what would be."""

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import RRLDP, HadamardResponse
from stream_ldp.mechanisms.notation import EXAMPLES, read_mechanism


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_example_of_every_mechanism_is_read(kind: str) -> None:
    assert read_mechanism(EXAMPLES[kind]) is not None


def test_a_word_has_the_parameters_that_it_names() -> None:
    assert read_mechanism("rr-ldp:f=0.5,sizes=4x2") == RRLDP(sizes=(4, 2), f=0.5)
    assert read_mechanism("hadamard:size=8,epsilon=1") == HadamardResponse(size=8, epsilon=1.0)


def test_a_word_of_no_known_mechanism_is_refused_with_those_that_are() -> None:
    with pytest.raises(ParameterError, match=r"'rappor' is no mechanism here; known are rr-ldp, k-rr, .*hadamard"):
        read_mechanism("rappor:f=0.5")


def test_parameters_that_cannot_be_are_refused_with_what_would_be_right() -> None:
    with pytest.raises(ParameterError, match=r"(?s)f must be between 0.*-> write it like rr-ldp:f=0\.5"):
        read_mechanism("rr-ldp:f=2,sizes=2")
    with pytest.raises(ParameterError, match=r"^not a mechanism; write it like rr-ldp:"):
        read_mechanism("rr-ldp:f=0.5")


def test_a_parameter_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="'epsilon' is given twice"):
        read_mechanism("k-rr:epsilon=2,epsilon=3,sizes=2")
