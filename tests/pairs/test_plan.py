"""The plan of key-value data: the errors that it predicts are those that are published."""

import numpy as np
import pytest

from stream_ldp.pairs.plan import leverages, plan
from tests.pairs.examples import collection_of, estimates_of
from tests.plans import text_of


def test_the_planned_error_of_a_share_is_that_of_a_key_that_few_hold() -> None:
    collection = collection_of()
    planned = plan(collection, populations=(20_000,))
    published = estimates_of(collection, 20_000).keys[2]
    assert planned.frequencies[0].standard_error == pytest.approx(published.standard_error, rel=0.25)
    assert planned.means[0].standard_error == pytest.approx(5 * planned.frequencies[0].standard_error)


def test_its_text_says_what_a_report_costs() -> None:
    text = text_of(plan(collection_of(), populations=(1_000,)))
    assert "all reports of a user's lifetime | epsilon 2.000, whatever keys are held" in text
    assert "share who hold a key | " in text


@pytest.mark.parametrize("oracle", ["k-rr", "k-subset", "oue", "hadamard"])
def test_a_crafted_answer_moves_a_share_as_far_as_the_leverage_says(oracle: str) -> None:
    """Of all answers that there are, by the sums of each alone."""
    collection = collection_of(f"epsilon: 0.5, padding: 2, oracle: {oracle}")
    randomizer = collection.question.randomizer
    answers = np.arange(2**randomizer.bits, dtype="<u4")[:, None].view(np.uint8)[:, : -(-randomizer.bits // 8)]
    answers = np.ascontiguousarray(answers)
    answers = answers[randomizer.valid(answers)]
    ends = np.array([randomizer.estimate(randomizer.sums(each[None]), reports=1)[:2].sum() for each in answers])
    (leverage,) = leverages(collection)
    assert leverage.of_one == pytest.approx(max(2 * ends.max(), 1 - 2 * ends.min()))
