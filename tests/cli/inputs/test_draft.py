"""The mechanism of a draft is the one that a plan finds best, at the epsilon that is wanted."""

import math
from pathlib import Path

import pytest

from stream_ldp.cli.inputs.draft import draft, name_for
from stream_ldp.cli.inputs.guess import Guess
from stream_ldp.errors import ParameterError
from stream_ldp.kinds import KINDS, parse_collection
from stream_ldp.pipeline.predicted import predicted
from stream_ldp.records.collection import JointCollection


def guessed(name: str, values: int) -> Guess:
    listed = [f"value {number}" for number in range(values)]
    return Guess(keys={"name": name, "values": listed}, cells=values, why="listed")


@pytest.mark.parametrize("epsilon", [1.0, *(pytest.param(each, marks=pytest.mark.long) for each in (4.0, 8.0))])
def test_no_mechanism_of_the_same_epsilon_has_a_smaller_error_than_the_drafted_one(epsilon: float) -> None:
    drafted = draft("survey", [guessed("a", 2), guessed("b", 5)], epsilon=epsilon, window="60s", users=1_000)
    assert isinstance(drafted.collection, JointCollection)
    assert drafted.collection.mechanism.privacy_loss(reports=math.inf).epsilon <= epsilon
    for other in predicted(drafted.collection, KINDS["records"], users=[1_000]).alternatives:
        assert min(other.errors.values()) >= 1 / 1.15, "or the difference is one of the drawn users"


def test_of_mechanisms_that_are_as_good_the_one_of_the_shortest_report_is_drafted() -> None:
    """For two values each, k-subset is k-RR, and which of both is measured to be better is chance."""
    for epsilon in (1.0, 4.0):
        drafted = draft("survey", [guessed("a", 2), guessed("b", 2)], epsilon=epsilon, window="60s", users=1_000)
        assert drafted.collection.document["mechanism"]["kind"] == "k-rr"


@pytest.mark.usefixtures("few_draws")
def test_many_attributes_are_asked_about_one_by_one() -> None:
    attributes = [guessed(name, 3) for name in "abcd"]
    drafted = draft("survey", attributes, epsilon=2.0, window="60s", users=1_000)
    assert [each["name"] for each in drafted.collection.document["attributes"]] == list("abcd")
    assert not isinstance(drafted.collection, JointCollection)
    assert "or choose at most 3 attributes" in drafted.text


def test_an_epsilon_that_no_mechanism_has_is_refused() -> None:
    with pytest.raises(ParameterError):
        draft("survey", [guessed("a", 2)], epsilon=1e-300, window="60s", users=1_000)


@pytest.mark.usefixtures("few_draws")
def test_any_file_gives_a_collection_its_name() -> None:
    drafted = draft("survey", [guessed("a", 2)], epsilon=2.0, window="60s", users=10).text
    for file in ("People of 2024.csv", "people.csv.gz", "---.csv", "é.csv"):
        name = name_for(Path(file))
        assert parse_collection(drafted.replace("survey", name)).name == name
