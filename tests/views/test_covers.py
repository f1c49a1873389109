"""Covers have every pair of attributes in a view."""

import math
from itertools import combinations

import pytest

from stream_ldp.views.covers import affine_plane, greedy_cover


@pytest.mark.parametrize("limit", [4, 16, 64, 1024])
@pytest.mark.parametrize("sizes", [(2,) * 16, (41, 8, 2, 16, 5, 5), (2, 2), (3, 7, 2, 9, 4)])
def test_every_pair_is_in_a_view_of_few_cells(sizes: tuple[int, ...], limit: int) -> None:
    views = greedy_cover(sizes, limit)
    told = {pair for view in views for pair in combinations(view, 2)}
    assert told == set(combinations(range(len(sizes)), 2))
    for view in views:
        assert view == tuple(sorted(view))
        assert len(view) == 2 or math.prod(sizes[place] for place in view) <= limit


@pytest.mark.parametrize("attributes", [5, 9, 12, 16, 20, 25])
def test_in_a_plane_every_pair_is_in_exactly_one_view(attributes: int) -> None:
    pairs = [pair for view in affine_plane(attributes) for pair in combinations(view, 2)]
    assert sorted(pairs) == list(combinations(range(attributes), 2))


def test_sixteen_attributes_have_twenty_views_of_four() -> None:
    assert [len(view) for view in affine_plane(16)] == [4] * 20


@pytest.mark.parametrize("attributes", [1, 4, 26])
def test_other_numbers_have_no_plane(attributes: int) -> None:
    assert affine_plane(attributes) == []


def test_no_cover_is_searched_for_more_attributes_than_a_client_has_time_for() -> None:
    assert greedy_cover((2,) * 41, 16) == []
