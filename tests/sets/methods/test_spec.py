"""Tests of the options of methods: which are refused, in which words, and where in the file."""

from typing import Any

import pytest

from stream_ldp.collection.located import CollectionError
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.methods import METHODS
from tests.sets.methods.examples import build, method


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("gfin", {}, "expected one of 'gfim', 'gfim-users', 'ldpminer', 'svim', 'loloha', got 'gfin'"),
        ("gfim", {"domain": 1}, "the domain has 1 item; from 2 to 1,048,576"),
        ("gfim", {"domain": 2**20 + 1}, "the domain has 1,048,577 items; from 2 to 1,048,576"),
        ("svim", {"epsilon": 22.5}, "phase 1 has an epsilon of 22.5; from 0.001 to 22"),
        ("gfim", {"split": (0.9999, 0.0001)}, "phase 2 has an epsilon of 0.0002; from 0.001 to 22"),
        ("gfim", {"k": 61}, "k is 61; from 1 to the 60 items of the domain"),
        ("svim", {"k": 0}, "k is 0; from 1 to the 60 items of the domain"),
        ("svim", {"epsilon": 0.0}, "epsilon is 0.0; a positive number"),
        ("svim", {"epsilon": float("nan")}, "epsilon is nan; a positive number"),
        ("gfim", {"k_max": 3}, "k_max is 3; from k, 4, to the 60 items of the domain"),
        ("gfim", {"k_max": 61}, "k_max is 61; from k, 4, to the 60 items of the domain"),
        ("gfim", {"finalists": 3}, "finalists is 3; from k, 4, to k_max, 12"),
        ("gfim", {"finalists": 13}, "finalists is 13; from k, 4, to k_max, 12"),
        ("loloha", {"set_size": None}, "loloha needs set_size"),
        ("gfim-users", {"set_size": 0}, "set_size is 0; from 1 to the 60 items of the domain"),
        ("svim", {"set_size": 61}, "set_size is 61; from 1 to the 60 items of the domain"),
        ("gfim-users", {"split": (1 - 1e-11, 1e-11)}, "phase 2 asks nobody: give it a larger part of the split"),
        ("gfim", {"split": (0.6, 0.6)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"split": (1.0, 0.0)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"split": (0.5, 0.25, 0.25)}, "two positive parts that sum to 1, such as"),
        ("gfim", {"combine": "median"}, "expected 'paper' or 'variance', got 'median'"),
        ("gfim", {"hash_bits": 0}, r"hash_bits is 0; from 1 \(sampling SH\) to 8"),
        ("gfim", {"hash_bits": 9}, r"hash_bits is 9; from 1 \(sampling SH\) to 8"),
        ("svim", {"finalists": 5}, "svim has no finalists, which is for"),
        ("svim", {"combine": "paper"}, "svim has no combine, which is for"),
        ("ldpminer", {"split": (0.5, 0.5)}, "ldpminer has no split, which is for"),
    ],
)
def test_an_impossible_option_is_refused_with_what_is_possible(
    kind: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method(kind, **{"domain": 60, "k": 4, "epsilon": 2.0, "set_size": 5, **changes})


def test_every_option_takes_effect_in_the_methods_that_have_it() -> None:
    values = {"k_max": 9, "finalists": 5, "set_size": 3, "split": (0.5, 0.5), "combine": "paper", "hash_bits": 2}
    values |= {"lifetime": 2.5}
    for kind, spec in METHODS.items():
        options = spec.model_fields.keys() - {"kind", "k", "epsilon"}
        assert options <= values.keys()
        for name in options:
            if (kind, name) != ("loloha", "k_max"):  # which has no candidates, and refuses it
                assert build(kind, **{name: values[name]}) != build(kind)


TEXT = """\
collection: films
mechanism:
  kind: gfim
  epsilon: 4
  k: 2
  k_max: 6
  set_size: 5
  split: [0.6, 0.4]
  finalists: 3
  combine: paper
  hash_bits: 1
items: {size: 16}
window: {size: 60s}
"""


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        (
            {"gfim": "gfin"},
            ["3:9: mechanism.kind: expected one of 'gfim', 'gfim-users', 'ldpminer', 'svim', 'loloha', got 'gfin'"],
        ),
        ({"kind: gfim": "# no kind"}, ["4:3: mechanism.kind: this key is required"]),
        ({"kind: gfim": "kind: [gfim]"}, ["3:9: mechanism.kind: expected one of 'gfim', "]),
        ({"epsilon: 4": "epsilon: 0"}, ["4:12: mechanism.epsilon: epsilon is 0.0; a positive number"]),
        ({"epsilon: 4": "epsilon: 60"}, ["4:12: mechanism.epsilon: phase 1 has an epsilon of 36; from 0.001 to 22"]),
        ({"k: 2": "k: 17"}, ["5:6: mechanism.k: k is 17; from 1 to the 16 items of the domain"]),
        ({"k: 2": "k: two"}, ["5:6: mechanism.k: 'two' is not a whole number"]),
        ({"k_max: 6": "k_max: 99"}, ["6:10: mechanism.k_max: k_max is 99; from k, 2, to the 16 items of the domain"]),
        ({"k_max: 6": "k_maks: 6"}, ["6:3: mechanism.k_maks: unknown key; did you mean 'k_max'?"]),
        ({"k_max: 6": "f: 6"}, ["6:3: mechanism.f: unknown key; known are k_max"]),
        ({"set_size: 5": "set_size: 17"}, ["7:13: mechanism.set_size: set_size is 17; from 1 to the 16 items"]),
        (
            {"[0.6, 0.4]": "[0.6, 0.6]"},
            ["8:10: mechanism.split: split is (0.6, 0.6); two positive parts that sum to 1, such as (0.6, 0.4)"],
        ),
        ({"[0.6, 0.4]": "[0.6, half]"}, ["8:16: mechanism.split.1: 'half' is not a number"]),
        ({"[0.6, 0.4]": "0.6"}, ["8:10: mechanism.split: expected a list, such as [0.6, ...]"]),
        (
            {"gfim": "gfim-users", "[0.6, 0.4]": "[0.99999999999, 0.00000000001]"},
            ["8:10: mechanism.split: phase 2 asks nobody: give it a larger part of the split"],
        ),
        ({"finalists: 3": "finalists: 7"}, ["9:14: mechanism.finalists: finalists is 7; from k, 2, to k_max, 6"]),
        ({"paper": "mean"}, ["10:12: mechanism.combine: expected 'paper' or 'variance', got 'mean'"]),
        ({"hash_bits: 1": "hash_bits: 9"}, ["11:14: mechanism.hash_bits: hash_bits is 9; from 1 (sampling SH) to 8"]),
        ({"size: 16": "size: 1"}, ["12:8: items: the domain has 1 item; from 2 to 1,048,576"]),
        (
            {"gfim": "ldpminer"},
            [
                "8:3: mechanism.split: ldpminer has no split, which is for",
                "9:3: mechanism.finalists: ldpminer has no finalists, which is for",
            ],
        ),
        (
            {"gfim": "svim", "hash_bits: 1": "hash_bits: no"},
            [
                "11:14: mechanism.hash_bits: 'no' is not a whole number",
                "8:3: mechanism.split: svim has no split, which is for",
                "9:3: mechanism.finalists: svim has no finalists, which is for",
                "10:3: mechanism.combine: svim has no combine, which is for",
            ],
        ),
    ],
    ids=str,
)
def test_a_mistake_is_reported_at_its_own_place_in_the_file(changes: dict[str, str], problems: list[str]) -> None:
    text = TEXT
    for right, wrong in changes.items():
        assert right in text
        text = text.replace(right, wrong, 1)
    with pytest.raises(CollectionError) as caught:
        ItemCollection.parse(text, source="films.yaml")
    found = [problem.removeprefix("films.yaml:") for problem in caught.value.problems]
    assert [said[: len(problem)] for said, problem in zip(found, problems, strict=True)] == problems


def test_a_mechanism_that_is_no_mapping_is_reported_what_one_is() -> None:
    with pytest.raises(CollectionError) as caught:
        ItemCollection.parse("collection: films\nmechanism: gfim\nitems: {size: 16}\nwindow: {size: 60s}\n")
    assert caught.value.problems == ("<collection>:2:12: mechanism: expected keys such as `kind:` and `epsilon:`",)
