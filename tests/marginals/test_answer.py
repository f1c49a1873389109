"""Marginals as a message: they come back as they were sent."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from stream_ldp.filtering.learnt import Learnt
from stream_ldp.marginals.answer import Frequencies, Marginals, Mean, Numbers
from tests.marginals.examples import collection_of, marginals_of


def test_marginals_come_back_from_their_bytes() -> None:
    marginals = marginals_of(collection_of())
    assert Marginals.from_bytes(marginals.to_bytes()) == marginals
    assert marginals.key == b"marginals|final|20000"
    assert marginals.of("age").attribute == "age"
    with pytest.raises(KeyError, match="weight"):
        marginals.of("weight")


def test_frequencies_without_an_error_each_are_refused() -> None:
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1,), projected=(0.5, 0.5))


def test_as_many_numbers_are_learnt_as_there_are() -> None:
    learnt = Learnt(
        estimate=(0.5, 0.4, 0.1), standard_error=(0.1,) * 3, weight=0.0, drift=None, jumped=False, filter=None
    )
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1, 0.1), projected=(0.5, 0.5), learnt=learnt)
    with pytest.raises(ValidationError, match="3 numbers are learnt of one mean"):
        Numbers(range=(0.0, 1.0), mean=Mean(raw=0.5, standard_error=0.1, projected=0.5), learnt=learnt)
