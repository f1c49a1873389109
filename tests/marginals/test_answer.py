"""Marginals as a message: they come back as they were sent."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.marginals.answer import Frequencies, Mean, Numbers
from stream_ldp.mechanisms import SeededEntropy
from tests.marginals.examples import collection_of, marginals_of, outputs_of, solved, sums_of, users
from tests.marginals.test_temporal import windows


def test_an_attribute_is_found_by_its_name() -> None:
    marginals = marginals_of(collection_of())
    assert marginals.of("age").attribute == "age"
    with pytest.raises(KeyError, match="weight"):
        marginals.of("weight")


def test_frequencies_without_an_error_each_are_refused() -> None:
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1,), projected=(0.5, 0.5))


def test_as_many_numbers_are_learnt_as_there_are() -> None:
    learnt = FilteredEstimate(
        estimate=(0.5, 0.4, 0.1), standard_error=(0.1,) * 3, weight=0.0, drift=None, jumped=False, filter=None
    )
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1, 0.1), projected=(0.5, 0.5), learnt=learnt)
    with pytest.raises(ValidationError, match="3 numbers are learnt of one mean"):
        Numbers(range=(0.0, 1.0), mean=Mean(raw=0.5, standard_error=0.1, projected=0.5), learnt=learnt)


def test_a_judgement_has_the_answers_about_each_attribute_and_the_privacy() -> None:
    judged = marginals_of(collection_of()).judgement()
    assert judged.evidence[0].startswith("20,000 reports: diet ")
    assert list(judged.facts) == ["diet:reports", "age:reports", "smokes:reports"]
    assert judged.privacy[0].startswith("epsilon 2.000 for ever: ")
    assert judged.previous == ()


def test_a_judgement_says_what_no_number_says() -> None:
    marginals = marginals_of(collection_of())
    diet = marginals.of("diet")
    assert isinstance(diet.estimate, Frequencies)
    others = diet.estimate.model_copy(update={"others": 0.125, "dropped": ("a", "b")})
    assert diet.model_copy(update={"estimate": others}).notes == (
        "diet: 2 candidates do not stand out, and have no estimate",
        "diet: none of these: 0.1250",
    )
    assert "level: its frequencies do not follow from the outputs" in outputs_of().judgement().evidence


def test_what_nobody_answered_is_not_0() -> None:
    collection = collection_of()
    rows = collection.questions.perturb(np.zeros(10, dtype=np.int64), users(10), entropy=SeededEntropy(3))
    marginals = solved(collection, (1.0, sums_of(collection, rows)))
    assert "age: nobody has answered" in marginals.judgement().evidence
    assert {cell.group for cell in marginals.cells()} == {"diet"}


def test_a_judgement_says_what_is_learnt_from_previous_windows() -> None:
    previous = windows(collection_of(window=", returning: 0"), seed=1, count=3)[-1].judgement().previous
    assert [sentence.split(":")[0] for sentence in previous] == ["diet", "age", "smokes"]
    assert "; with them, meat 0." in previous[0]
