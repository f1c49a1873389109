"""Estimates of pairs as a message: they come back as they were sent, and as cells."""

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.pairs.answer import PairEstimates
from tests.pairs.examples import collection_of, estimates_of


def test_cells_are_shares_and_means_in_units_of_the_key() -> None:
    found = PairEstimates.from_bytes(estimates_of(collection_of()).to_bytes())
    cells = {cell.key: cell for cell in found.cells()}
    assert ("frequency", ("photos",)) in cells
    assert ("mean of photos", ("photos",)) not in cells
    low, high = cells["mean of search", ("search",)].interval() or (0, 0)
    assert 0 <= low < 15 < high <= 60
    assert [cell.labels["quantity"] for cell in found.narrowed_to(["maps"])] == ["frequency", "mean"]


def test_other_keys_and_conditions_are_refused() -> None:
    found = estimates_of(collection_of(), 2_000)
    with pytest.raises(ParameterError, match=r"'map' is not a key .*did you mean 'maps'"):
        list(found.narrowed_to(["map"]))
    with pytest.raises(ParameterError, match="given another"):
        list(found.narrowed_to(["maps"], given=["search"]))
    with pytest.raises(
        ParameterError, match="the mean of a key's numbers is known, and not how many lie between two"
    ):
        list(found.between(1, 2))
    with pytest.raises(ParameterError, match="leave out what they lie between"):
        list(found.within({"maps": (1, 2)}))


def test_it_says_what_is_known_of_no_key() -> None:
    said = estimates_of(collection_of()).judgement()
    assert any("1 key without a mean" in each for each in said.evidence)
    assert "whatever keys and numbers they hold" in said.privacy[0]
