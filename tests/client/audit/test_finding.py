"""A finding has the first problem, or none."""

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from stream_ldp.client.audit.finding import differing_bit, finding, id_problems
from stream_ldp.mechanisms import SeededEntropy


def test_a_finding_has_the_first_problem_and_looks_for_no_other() -> None:
    def problems() -> Iterator[str]:
        yield "first"
        raise AssertionError("not looked for")

    assert finding("promise", problems(), chance=0.1).problem == "first"


def test_a_promise_without_problems_holds() -> None:
    assert finding("promise", []).problem is None


def random_ids(seed: int, count: int = 1_024) -> list[bytes]:
    words = SeededEntropy(seed).words(4 * count).tobytes()
    return [words[start : start + 16] for start in range(0, len(words), 16)]


def test_random_ids_are_not_accused() -> None:
    """A right test accuses one of 10 seeds with a chance of 1 in 10^5."""
    assert [seed for seed in range(10) if any(id_problems(random_ids(seed)))] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda each, number: each[:12] + number.to_bytes(4, "little"),
        lambda each, number: each[:12] + number.to_bytes(4, "big"),
        lambda each, number: each[:8] + (1_704_067_200_000 + 3 * number).to_bytes(8, "little"),
        lambda each, number: each[:15] + b"x",
        lambda each, number: each[:15] + bytes([each[15] & 0xFE]),
        lambda each, number: each[: 16 - number % 2],
        lambda each, number: bytes([number % 256]) * 16,
    ],
    ids=["counter", "big-endian counter", "clock", "constant", "even", "length", "repeating"],
)
def test_ids_that_tell_something_are_found(spoil: Callable[[bytes, int], bytes]) -> None:
    assert any(id_problems([spoil(each, number) for number, each in enumerate(random_ids(1))]))


def test_groups_that_differ_in_a_bit_are_found_and_others_are_not() -> None:
    """A right test accuses one of 30 seeds with a chance of 3 in 10^5."""
    for seed in range(30):
        rows = np.frombuffer(b"".join(random_ids(seed)), dtype=np.uint8).reshape(-1, 16)
        assert differing_bit(rows[:512], rows[512:]) is None
        spoilt = rows.copy()
        spoilt[:512:2, 5] |= 8
        assert differing_bit(spoilt[:512], spoilt[512:]) == 43


def test_the_operating_systems_ids_are_not_accused() -> None:
    """A right test fails once in a million runs."""
    assert not any(id_problems([os.urandom(16) for _ in range(1_024)]))
