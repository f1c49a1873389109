"""One report is shown as it left, with what it cost."""

import numpy as np

from stream_ldp.cli.one_report import one_report
from stream_ldp.mechanisms.privacy_loss import shown_epsilon
from tests.client.examples import collection_of


def test_a_report_is_shown_beside_its_record_with_the_bits_that_left_and_their_price() -> None:
    collection = collection_of()
    record, left, guess = one_report(collection, np.array([1, 2]))
    assert record.endswith("bathing yes, mobility full")
    assert len(left.rpartition(" ")[2]) == collection.bits
    epsilon = collection.mechanism.privacy_loss(reports=1).epsilon
    assert guess.endswith(f"right (epsilon {shown_epsilon(epsilon)})")
