"""Numbers in words."""

import pytest

from stream_ldp.quantity import memory, quantity


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 reports"), (1, "1 report"), (1.4, "1 report"), (2, "2 reports"), (1e6, "1,000,000 reports")],
)
def test_one_is_singular_and_all_else_plural_with_separators(count: float, written: str) -> None:
    assert quantity(count, "report") == written


def test_a_plural_may_be_its_own() -> None:
    assert [quantity(count, "batch", "batches") for count in (1, 2)] == ["1 batch", "2 batches"]


@pytest.mark.parametrize(
    ("size", "written"), [(1, "1 byte"), (999, "999 bytes"), (4_000, "4.0 kB"), (10**18, "1,000.0 PB")]
)
def test_memory_is_written_in_the_unit_of_its_size(size: int, written: str) -> None:
    assert memory(size) == written
