"""One report is shown as it left, with what it cost."""

from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.one_report import one_report
from stream_ldp.kinds import parse_collection
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from tests.client.examples import collection_of
from tests.kinds.subjects import SUBJECTS


def test_a_report_is_shown_beside_its_record_with_the_bits_that_left_and_their_price() -> None:
    collection = collection_of()
    record, left, guess = one_report(collection, np.array([1, 2]))
    assert record.endswith("bathing yes, mobility full")
    assert len(left.rpartition(" ")[2]) == collection.bits
    epsilon = collection.mechanism.privacy_loss(reports=1).epsilon
    assert guess.endswith(f"right (epsilon {shown_epsilon(epsilon)})")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("strings", "word banana"),
        ("pairs", "search 30.0"),
        ("places", "place a, region everywhere, epsilon 4"),
        ("sampled", "diet meat, age 30.0"),
        ("views", "diet meat, smokes no"),
    ],
)
def test_a_record_of_every_kind_is_shown_as_it_was_given(kind: str, said: str) -> None:
    subject = SUBJECTS[kind]
    collection: Any = parse_collection(subject.text)
    record, *_ = one_report(collection, collection.users([subject.held[0]])[0])
    assert record == f"One user's true record:  {said}"
