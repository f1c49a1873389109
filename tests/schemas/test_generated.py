"""The contracts that are shipped are those of the code."""

import pytest

from stream_ldp.schemas import contract, contracts
from stream_ldp.schemas.generated import GENERATORS, generated


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_a_shipped_contract_is_what_the_code_says(name: str) -> None:
    assert contract(name) == generated(name), "run python -m stream_ldp.schemas"


def test_no_contract_is_shipped_that_nothing_generates() -> None:
    assert contracts() == sorted(GENERATORS)
