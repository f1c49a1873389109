"""Trees of regions: what a file may write, and what each region holds."""

from typing import Any

import pytest

from stream_ldp.collection.located import Misplaced
from stream_ldp.places.tree import PlaceTree, even_tree, named_tree


def runs(tree: PlaceTree) -> list[tuple[str, int, int, int]]:
    return [(each.name, each.first, each.end, each.depth) for each in tree.regions]


def test_a_region_is_a_run_of_places_and_comes_before_its_parts() -> None:
    tree = named_tree({"north": {"x": ["a", "b"], "y": ["c", "d"]}, "south": ["e", "f", "g"]}, root="all")
    assert tree.places == tuple("abcdefg")
    assert runs(tree) == [("all", 0, 7, 0), ("north", 0, 4, 1), ("x", 0, 2, 2), ("y", 2, 4, 2), ("south", 4, 7, 1)]
    assert [place in tree.regions[4] for place in (3, 4, 6, 7)] == [False, True, True, False]
    assert tree.regions[4].size == 3


def test_a_list_is_a_tree_of_one_region() -> None:
    assert runs(named_tree(["a", "b"], root="all")) == [("all", 0, 2, 0)]


def test_the_parts_of_an_even_tree_are_named_by_their_numbers() -> None:
    tree = even_tree([2, 3], root="all")
    assert tree.places == ("0.0", "0.1", "0.2", "1.0", "1.1", "1.2")
    assert runs(tree) == [("all", 0, 6, 0), ("0", 0, 3, 1), ("1", 3, 6, 1)]
    assert len(even_tree([4, 4, 4, 4], root="all").regions) == 1 + 4 + 16 + 64


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ("a", "maps regions to their own regions, or lists their places"),
        ({"north": "a"}, "region 'north': `places` maps regions"),
        ({"north": ["a"], "south": ["b", "c"]}, "region 'north' has fewer than two places"),
        ({}, "fewer than two places"),
        ([], "fewer than two places"),
        (["a", "a"], "place 'a' is given twice"),
        ({"x": ["a", "b"], "y": {"x": ["c", "d"]}}, "region 'x' is given twice"),
        ({"all": ["a", "b"]}, "region 'all' is given twice"),
        (["a", ["b"]], "a name has 1 to 200 characters"),
        (["a", ""], "a name has 1 to 200 characters"),
        (["a", "\n"], "a name has 1 to 200 characters"),
        ([str(place) for place in range(2**14 + 1)], "at most 16,384"),
    ],
)
def test_what_is_no_tree_is_refused(nested: Any, message: str) -> None:
    with pytest.raises(Misplaced, match=message) as raised:
        named_tree(nested, root="all")
    assert raised.value.place[0] == "places"


def test_too_many_levels_are_refused_before_they_are_built() -> None:
    with pytest.raises(Misplaced, match="more than 16,384 places"):
        even_tree([1000] * 1000, root="all")
