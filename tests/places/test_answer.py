"""The message of counts: what it refuses, and its numbers one by one."""

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.places.answer import PlaceCounts
from tests.places.examples import collection_of, counts_of

COUNTS = counts_of(collection_of(), 500)


def test_counts_and_places_that_differ_in_number_are_refused() -> None:
    with pytest.raises(ValueError, match=r"differ in number: \[4, 5\]"):
        PlaceCounts.from_bytes(COUNTS.model_copy(update={"raw": COUNTS.raw[:4]}).to_bytes())


def test_each_place_is_a_cell() -> None:
    cells = list(COUNTS.cells())
    assert [each.labels["place"] for each in cells] == list("abcde")
    assert [each.raw for each in cells] == list(COUNTS.raw)
    assert cells[0].range == (0.0, 500.0)
    assert list(COUNTS.narrowed_to(["place"])) == cells
    for of, given in ((["town"], ()), (["place"], ("region",))):
        with pytest.raises(ParameterError, match="the only attribute is 'place'"):
            list(COUNTS.narrowed_to(of, given=given))


def test_a_judgement_has_the_reports_by_region_and_the_epsilons() -> None:
    judged = COUNTS.judgement()
    assert judged.evidence[0].startswith("500 reports, by region: everywhere ")
    assert len(judged.evidence) == 2
    assert judged.privacy[0].startswith("epsilon 0.500 or 2.000 a lifetime: ")


def test_weights_are_reported_with_what_they_assume() -> None:
    weighted = counts_of(collection_of("epsilon: [0.5, 2]"), 100)
    assert (
        "which is unbiased only if the choice of epsilon is independent of the place"
        in weighted.judgement().evidence[1]
    )
