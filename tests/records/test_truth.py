"""What is true of users whose records are known."""

from __future__ import annotations

import numpy as np

from stream_ldp.records.truth import totals
from tests.client.examples import collection_of


def test_users_are_counted_in_the_cells_of_every_estimate() -> None:
    found = totals(collection_of(), np.array([[0, 0], [1, 2], [1, 2]]))
    assert found["bathing-mobility", ("", ("no", "none"))] == 1.0
    assert found["bathing-mobility", ("", ("yes", "full"))] == 2.0
    assert found["mobility", ("", ("full",))] == 2.0
    assert sum(found.values()) == 2 * 3
