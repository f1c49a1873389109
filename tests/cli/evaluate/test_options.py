"""Tests of the options that evaluations share: a user who knows one evaluation knows them all."""

import inspect

import pytest

from stream_ldp.cli.evaluate import _Evaluate
from stream_ldp.cli.evaluate._options import AsJson, Repeats, Seed


@pytest.mark.parametrize("name", _Evaluate.table)
def test_every_evaluation_has_the_same_repeats_seed_and_form(name: str) -> None:
    parameters = inspect.signature(_Evaluate.table[name].part.imported(), eval_str=True).parameters
    assert [parameters[each].annotation for each in ("repeats", "seed", "as_json")] == [Repeats, Seed, AsJson]
    assert "users" in parameters
    assert "data" in parameters
