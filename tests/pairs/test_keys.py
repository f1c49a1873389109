"""Keys: their numbers, and what stands for a key that is not held."""

from __future__ import annotations

import math

import pytest

from stream_ldp.errors import DataError
from stream_ldp.pairs.keys import Key


def test_numbers_and_what_is_not_held() -> None:
    key = Key("search", (0.0, 60.0), clip=True)
    assert [key.encode(value) for value in ("12.5", 3, 99, -4, "-0.0")] == [12.5, 3.0, 60.0, 0.0, 0.0]
    assert math.copysign(1, key.encode("-0.0")) == 1
    assert all(math.isnan(key.encode(value)) for value in (None, "", float("nan")))


@pytest.mark.parametrize("value", ["many", "nan", [1], b"1"])
def test_what_is_no_number_is_refused_and_not_repeated(value: object) -> None:
    with pytest.raises(DataError) as raised:
        Key("search", (0.0, 60.0), clip=True).encode(value)
    assert "search" in str(raised.value)
    assert "many" not in str(raised.value)


def test_without_clip_numbers_beyond_the_range_are_refused() -> None:
    with pytest.raises(DataError, match="not from 0 to 60"):
        Key("search", (0.0, 60.0), clip=False).encode(60.5)
