"""The question about one key: which is drawn, and to which end its number is rounded."""

import math
from fractions import Fraction

import numpy as np
import pytest

from stream_ldp.audit.enumerate import distribution
from stream_ldp.errors import DataError
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pairs.question import Key
from stream_ldp.questions.questions import Table
from tests.pairs.examples import collection_of

USERS = 40_000


def alike(numbers: tuple[float, float, float]) -> Table:
    return np.array([numbers] * USERS, dtype=[("0", "<f8"), ("1", "<f8"), ("2", "<f8")])


@pytest.mark.parametrize(
    ("numbers", "shares"),
    [
        ((np.nan, np.nan, np.nan), [0, 0, 0, 0, 0, 0, 1]),
        ((15, np.nan, np.nan), [0.375, 0.125, 0, 0, 0, 0, 0.5]),
        ((15, np.nan, 1), [0.375, 0.125, 0, 0, 0, 0.5, 0]),
        ((0, 10, 0), [1 / 3, 0, 0, 1 / 3, 1 / 6, 1 / 6, 0]),
    ],
)
def test_a_slot_and_an_end_are_drawn(numbers: tuple[float, float, float], shares: list[float]) -> None:
    """Within 5 standard errors, at most 0.0025 each: 1 seed in 10^6 for each share."""
    inputs = collection_of("epsilon: 2, padding: 2, oracle: k-subset").question.inputs(
        alike(numbers), entropy=SeededEntropy(3)
    )
    assert np.bincount(inputs, minlength=7) / USERS == pytest.approx(np.array(shares), abs=0.0126)


def test_by_k_rr_each_slot_without_a_key_has_a_value_of_its_own() -> None:
    question = collection_of("epsilon: 2, padding: 2, oracle: k-rr").question
    for numbers, shares in (
        ((np.nan, np.nan, np.nan), [0, 0, 0, 0, 0, 0, 0.5, 0.5]),
        ((15, np.nan, np.nan), [0.375, 0.125, 0, 0, 0, 0, 0.5, 0]),
    ):
        inputs = question.inputs(alike(numbers), entropy=SeededEntropy(3))
        assert np.bincount(inputs, minlength=8) / USERS == pytest.approx(np.array(shares), abs=0.0126)


@pytest.mark.parametrize("oracle", ["k-rr", "k-subset"])
@pytest.mark.parametrize("padding", [1, 2])
def test_no_answer_loses_more_than_epsilon_whatever_two_users_hold(oracle: str, padding: int) -> None:
    """Enumerated through all that a client does, for users of none to all of the keys, with numbers at an end."""
    collection = collection_of(f"epsilon: 1.5, padding: {padding}, oracle: {oracle}")
    questions = collection.questions

    def law(numbers: tuple[float, ...]) -> dict[bytes, Fraction]:
        table = collection.table([numbers])
        return distribution(lambda entropy: questions.perturb(np.array([0]), table, entropy=entropy).tobytes())

    held = [(np.nan, np.nan, np.nan), (0.0, np.nan, np.nan), (60.0, 10.0, np.nan), (0.0, 0.0, 1.0)]
    laws = [law(each) for each in held]
    assert len({frozenset(each) for each in laws}) == 1
    worst = max(one[row] / other[row] for one in laws for other in laws for row in one)
    assert np.log(float(worst)) == pytest.approx(questions.epsilon, abs=1e-9)
    assert questions.epsilon <= 1.5
    assert collection.question.cost.epsilon == questions.epsilon


def test_k_rr_spends_more_on_what_is_drawn() -> None:
    """e^eps' - 1 = padding (e^eps - 1)."""
    question = collection_of("epsilon: 1, padding: 3, oracle: k-rr").question
    assert np.expm1(question.randomizer.epsilon) == pytest.approx(3 * np.expm1(1.0), abs=1e-6)


def test_numbers_and_what_is_not_held() -> None:
    key = Key("search", (0.0, 60.0), clip=True)
    assert [key.encode(value) for value in ("12.5", 3, 99, -4, "-0.0")] == [12.5, 3.0, 60.0, 0.0, 0.0]
    assert math.copysign(1, key.encode("-0.0")) == 1
    assert all(math.isnan(key.encode(value)) for value in (None, "", float("nan")))


@pytest.mark.parametrize("value", ["many", "nan", [1], b"1"])
def test_what_is_no_number_is_refused_and_not_repeated(value: object) -> None:
    with pytest.raises(DataError) as raised:
        Key("search", (0.0, 60.0), clip=True).encode(value)
    assert "search" in str(raised.value)
    assert "many" not in str(raised.value)


def test_without_clip_numbers_beyond_the_range_are_refused() -> None:
    with pytest.raises(DataError, match="not from 0 to 60"):
        Key("search", (0.0, 60.0), clip=False).encode(60.5)
