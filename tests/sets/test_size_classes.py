"""Sizes of sets have classes by powers of two, each with a name and the slots that hold its sets."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.sets.size_classes import class_count, class_names, classes_of, largest_of, largest_padding


def test_a_class_holds_the_sizes_up_to_a_power_of_two() -> None:
    sizes = np.array([0, 1, 2, 3, 4, 5, 8, 9, 64, 65, 128, 129, 10_000])
    assert classes_of(sizes, count=8).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 6, 7, 7, 7, 7]


@pytest.mark.parametrize("domain", [2, 3, 4, 5, 16, 17, 119, 128, 129, 2**20])
def test_every_set_of_a_domain_has_a_class_whose_slots_hold_it(domain: int) -> None:
    count, sizes = class_count(domain), np.arange(min(domain, 128) + 1)
    found = classes_of(sizes, count=count)
    assert found.max() == count - 1, "no class is of sets that nobody can have"
    slots = [largest_of(each, domain=domain) for each in range(count)]
    assert all(size <= slots[each] for size, each in zip(sizes.tolist(), found.tolist(), strict=True))
    assert slots[-1] == largest_padding(domain) == min(domain, 128)


def test_names_say_which_sizes_a_class_has() -> None:
    assert class_names(2) == ("0 or 1", "2")
    assert class_names(10) == ("0 or 1", "2", "3 to 4", "5 to 8", "9 to 16")
    assert class_names(1_000)[-2:] == ("33 to 64", "65 or more")
