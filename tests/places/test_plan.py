"""The plan of a collection of places: the errors that it predicts are those of users who are spread evenly."""

from dataclasses import asdict

import numpy as np
import pytest

from stream_ldp.pipeline.plan import finite
from stream_ldp.places.plan import plan
from tests.places.examples import collection_of, rows_of
from tests.plans import text_of
from tests.questions.examples import solved, sums_of


def test_the_planned_error_is_that_of_users_who_are_spread_evenly() -> None:
    collection = collection_of("epsilon: [0.5, 2]")
    planned = plan(collection, populations=(5_000,))
    assert [(each.places, each.regions, each.epsilon) for each in planned.regions] == [
        (5, 1, 0.5),
        (5, 1, 2.0),
        (3, 1, 0.5),
        (3, 1, 2.0),
        (2, 1, 0.5),
        (2, 1, 2.0),
    ]
    everywhere = collection.table([(place, 0, 1) for place in range(5)] * 1_000)
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, everywhere))))
    assert np.mean(counts.standard_error) == pytest.approx(planned.regions[1].errors[0].standard_error, rel=0.02)
    south = collection.table([(place, 2, 0) for place in (2, 3, 4)] * 1_000)
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, south))))
    assert np.mean(counts.standard_error[2:]) == pytest.approx(planned.regions[2].errors[0].standard_error, rel=0.02)


def test_it_says_what_a_report_takes() -> None:
    planned = plan(collection_of("epsilon: [0.5, 2], oracle: k-rr"))
    assert planned.bits == 8 + 3
    assert planned.report_bytes == 2
    assert planned.counters == 2 * (1 + 5) + 2 * (1 + 2) + 2 * (1 + 3)
    assert planned.state_bytes == 8 * planned.counters
    assert planned.epsilons == (0.5, 2.0)


def test_its_text_says_what_is_not_hidden_and_its_document_has_every_size() -> None:
    planned = plan(collection_of("epsilon: [0.5, 2]"), populations=(1_000,))
    assert "not hidden | the region and the epsilon" in text_of(planned)
    written = finite(asdict(planned))
    assert [each["places"] for each in written["regions"]] == [5, 5, 3, 3, 2, 2]
    assert [error["users"] for error in written["regions"][0]["errors"]] == [1_000]
