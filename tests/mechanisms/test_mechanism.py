"""These tests show what every mechanism for records refuses."""

import pytest

from stream_ldp.mechanisms import RRLDP

SURVEY = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_an_impossible_number_of_neighbours_is_refused(neighbours: int) -> None:
    with pytest.raises(ValueError, match="differ in 1 to 2 attributes"):
        SURVEY.epsilon(neighbours=neighbours)
