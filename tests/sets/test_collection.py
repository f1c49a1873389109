"""Tests of files of ItemCollection: which are refused, where the fault is located, what the fingerprint covers."""

import json
import re
from typing import cast

import pytest

from stream_ldp.collection.located import CollectionError
from stream_ldp.errors import DataError
from stream_ldp.kinds import parse_collection
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.methods.spec import MAX_DOMAIN
from stream_ldp.sets.phases import epoch_epsilon

TEXT = """\
collection: films
mechanism: {kind: gfim, epsilon: 4, k: 2, set_size: 5}
items: {size: 16}
window: {size: 60s}
"""

MANY = "{kind: gfim, epsilon: 4, k: 2, set_size: 5}\nitems: {size: 16}"


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(CollectionError) as caught:
        parse_collection(text, source="films.yaml")
    return caught.value.problems


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        (
            "gfim",
            "gfim2",
            "2:19: mechanism.kind: expected 'rr-ldp', 'k-rr', 'k-subset', 'hashed-k-rr', 'gfim', 'gfim-users', "
            "'ldpminer', 'svim', 'loloha', 'sampled', 'strings', 'pairs' or 'places', got",
        ),
        ("kind: gfim, ", "combine: paper, ", "2:12: mechanism.kind: this key is required"),
        (
            "gfim",
            "svim, combine: paper",
            "2:25: mechanism.combine: svim has no combine, which is for gfim, gfim-users and ldpminer: leave it out",
        ),
        (
            "gfim",
            "ldpminer, finalists: 2",
            "2:29: mechanism.finalists: ldpminer has no finalists, which is for gfim and gfim-users: leave it out",
        ),
        ("epsilon: 4, ", "", "2:12: mechanism.epsilon: this key is required"),
        ("epsilon: 4", "epsilon: high", "2:34: mechanism.epsilon: 'high' is not a number"),
        ("epsilon: 4", "epsilon: 0", "2:34: mechanism.epsilon: epsilon is 0.0; a positive number"),
        ("epsilon: 4", "epsilon: nan", "2:34: mechanism.epsilon: epsilon is nan; a positive number"),
        ("epsilon: 4", "epsilon: 60", "2:34: mechanism.epsilon: phase 1 has an epsilon of 36; from 0.001 to 22"),
        ("k: 2, ", "", "2:12: mechanism.k: this key is required"),
        ("k: 2", "k: 1.5", "2:40: mechanism.k: '1.5' is not a whole number"),
        ("k: 2", "k: 17", "2:40: mechanism.k: k is 17; from 1 to the 16 items of the domain"),
        ("k: 2", "k: 0", "2:40: mechanism.k: k is 0; from 1 to the 16 items of the domain"),
        ("set_size: 5", "set_size: 0", "2:53: mechanism.set_size: set_size is 0; from 1 to the 16 items"),
        ("set_size: 5", "set_size: 5, k_max: 1", "2:63: mechanism.k_max: k_max is 1; from k, 2, to the 16 items"),
        ("set_size: 5", "set_size: 5, k_max: 17", "2:63: mechanism.k_max: k_max is 17; from k, 2, to the 16 items"),
        (
            MANY,
            MANY.replace("5}", "5, k_max: 65537}").replace("16}", "99999}"),
            "2:63: mechanism.k_max: k_max is 65,537; at most 65,",
        ),
        (
            "set_size: 5",
            "set_size: 5, finalists: 1",
            "2:67: mechanism.finalists: finalists is 1; from k, 2, to k_max, 6",
        ),
        (
            "set_size: 5",
            "set_size: 5, split: [0.5, 0.6]",
            "2:63: mechanism.split: split is (0.5, 0.6); two positive parts that sum to",
        ),
        ("set_size: 5", "set_size: 5, combine: mean", "2:65: mechanism.combine: expected 'paper' or 'variance', got"),
        (
            "set_size: 5",
            "set_size: 5, hash_bits: 9",
            "2:67: mechanism.hash_bits: hash_bits is 9; from 1 (sampling SH) to 8",
        ),
        ("set_size: 5", "set_size: 5, sise: 1", "2:56: mechanism.sise: unknown key; known are k_max, split"),
        ("items: {size: 16}\n", "", "1:1: items: this key is required"),
        ("{size: 16}", "16", "3:8: items: expected keys such as `size:` and `names:`"),
        ("{size: 16}", "{}", "3:8: items: give either `size`, the number of items, or `names`, a list of them"),
        ("{size: 16}", "{size: 2, names: [a, b]}", "3:8: items: give either `size`, the number of items, or `names`"),
        ("{size: 16}", "{size: 0}", "3:15: items.size: it should be greater than or equal to 1"),
        ("{size: 16}", "{size: 1}", "3:8: items: the domain has 1 item; from 2 to 1,048,576"),
        ("{size: 16}", f"{{size: {MAX_DOMAIN + 1}}}", "3:15: items.size: it should be less than or equal to 1048576"),
        (
            "{size: 16}",
            "{names: [a, b, a]}",
            "3:23: items.names.2: names of items must be distinct, 'a' is given twice",
        ),
        ("{size: 16}", "{names: [a, '']}", "3:20: items.names.1: String should have at least 1 character"),
        ("{size: 16}", "{names: []}", "3:16: items.names: at least 1 needed"),
        ("60s", "60s, hop: 30s", "4:26: window.hop: a phase takes a whole window: leave hop out"),
        ("60s", "60s, memory: 0.5", "4:29: window.memory: every epoch asks anew: leave memory out"),
        (
            "60s",
            "60s, reports_per_user: 2",
            "4:39: window.reports_per_user: a user reports once to each phase of an epoch: leave it out",
        ),
        ("60s", "60s, idle_timeout: never", "4:35: window.idle_timeout: clients are silent until they know"),
        ("60s", "15s", "4:16: window.size: what a phase asks is known 15000 ms (idle_timeout + grace) after the"),
        ("60s}", "60s}\nepochs: weekly", "5:9: epochs: expected 'sequential' or 'pipelined', got 'weekly'"),
        ("60s}", "60s}\nevery: 0s", "5:8: every: it should be greater than 0"),
        (
            "60s}",
            "60s}\nestimates: []",
            "5:1: estimates: unknown key; known are title, question, labels, min_reports, delta",
        ),
    ],
)
def test_every_fault_in_a_file_is_found_and_located(right: str, wrong: str, problem: str) -> None:
    assert right in TEXT
    (found,) = problems_of(TEXT.replace(right, wrong))
    assert found.startswith(f"films.yaml:{problem}")


def test_the_largest_domain_is_accepted() -> None:
    collection = ItemCollection.parse(TEXT.replace("16", str(MAX_DOMAIN)))
    assert collection.method.oracle(collection.method.first()).counters >= MAX_DOMAIN


@pytest.mark.parametrize(
    ("mechanism", "document"),
    [
        ("kind: gfim, epsilon: 4, k: 2, set_size: 5", '{"kind": "gfim", "epsilon": 4.0, "k": 2, "set_size": 5}'),
        (
            "hash_bits: 1, combine: paper, split: [0.5, 0.5], finalists: 3, k_max: 4, set_size: 5, k: 2, "
            "epsilon: 4.5, kind: gfim-users",
            '{"kind": "gfim-users", "epsilon": 4.5, "k": 2, "k_max": 4, "set_size": 5, "split": [0.5, 0.5], '
            '"finalists": 3, "combine": "paper", "hash_bits": 1}',
        ),
        (
            "kind: ldpminer, epsilon: 2, k: 3, combine: variance, set_size: 2, hash_bits: 2, k_max: 5",
            '{"kind": "ldpminer", "epsilon": 2.0, "k": 3, "k_max": 5, "set_size": 2, "combine": "variance", '
            '"hash_bits": 2}',
        ),
        ("k: 3, epsilon: 2, kind: svim", '{"kind": "svim", "epsilon": 2.0, "k": 3}'),
        (
            "kind: svim, hash_bits: 8, k_max: 7, epsilon: 2, k: 3, set_size: 4",
            '{"kind": "svim", "epsilon": 2.0, "k": 3, "k_max": 7, "set_size": 4, "hash_bits": 8}',
        ),
    ],
)
def test_a_method_is_registered_with_the_given_options_alone_in_one_order(mechanism: str, document: str) -> None:
    text = TEXT.replace("kind: gfim, epsilon: 4, k: 2, set_size: 5", mechanism)
    assert json.dumps(ItemCollection.parse(text).document) == (
        '{"collection": "films", "window": {"size": 60000, "grace": 5000, "idle_timeout": 10000, "ahead": 10000, '
        f'"max_age": 86400000, "reports_per_user": 1.0}}, "mechanism": {document}, "items": {{"size": 16}}, '
        '"epochs": "sequential", "every": 2000}'
    )


def fingerprint(right: str = "", wrong: str = "") -> bytes:
    assert right in TEXT
    return parse_collection(TEXT.replace(right, wrong)).fingerprint


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("films", "apps"),
        ("gfim", "gfim-users"),
        ("epsilon: 4", "epsilon: 4.5"),
        ("set_size: 5", "set_size: 6"),
        ("set_size: 5", "set_size: 5, hash_bits: 1"),
        ("set_size: 5", "set_size: 5, split: [0.5, 0.5]"),
        ("{size: 16}", "{size: 17}"),
        ("{size: 16}", "{names: [a, b, c, d, e]}"),
        ("60s", "61s"),
        ("60s}", "60s}\nepochs: pipelined"),
    ],
)
def test_reports_of_different_meaning_have_different_fingerprints(right: str, wrong: str) -> None:
    assert fingerprint(right, wrong) != fingerprint()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("60s}", "60s, grace: 1s, idle_timeout: 9s, ahead: 1s, max_age: 1h}"),
        ("60s}", "60s}\nevery: 7s"),
        ("60s}", "60s}\nepochs: sequential"),
        ("60s", "1m"),
        ("epsilon: 4, k: 2", "k: 2, epsilon: 4.0"),
        ("k: 2", "k: 3"),
        ("set_size: 5", "set_size: 5, k_max: 9, finalists: 4, combine: paper"),
    ],
)
def test_reports_of_the_same_meaning_have_the_same_fingerprint(right: str, wrong: str) -> None:
    """Timeouts, the number of heavy hitters and the style of a file change no report."""
    assert fingerprint(right, wrong) == fingerprint()


def test_the_order_of_names_changes_the_fingerprint() -> None:
    first, second = (fingerprint("{size: 16}", f"{{names: [{names}, c, d, e]}}") for names in ("a, b", "b, a"))
    assert first != second


@pytest.mark.parametrize("name", ["16", "007", "-1", "1.0", " 1", "\u0661", "", "one"])
def test_an_unknown_item_is_refused_and_not_repeated_in_the_error(name: str) -> None:
    """A user's items must not appear anywhere, not even in a log."""
    collection = ItemCollection.parse(TEXT)
    with pytest.raises(
        ValueError, match=re.escape("an item of the set is not a whole number from 0 to 15")
    ) as caught:
        collection.encode(["3", name])
    assert str(caught.value).endswith("0 to 15")
    named = ItemCollection.parse(TEXT.replace("{size: 16}", "{names: [secret, b, c, d, e]}"))
    with pytest.raises(ValueError, match=r"^an item of the set is not among the collection's items$"):
        named.encode([name])


def test_a_set_of_items_is_encoded_as_sorted_distinct_numbers() -> None:
    assert ItemCollection.parse(TEXT).encode(["7", "0", "7", "15"]) == [0, 7, 15]
    named = ItemCollection.parse(TEXT.replace("{size: 16}", "{names: ['7', b, no, d, e]}"))
    assert named.encode(["no", "7"]) == [0, 2]
    assert [named.items.name(item) for item in range(3)] == ["7", "b", "no"]
    assert ItemCollection.parse(TEXT).encode([]) == []


def test_an_item_may_be_given_as_a_number_and_anything_else_that_is_no_item_is_refused() -> None:
    numbered = ItemCollection.parse(TEXT)
    assert numbered.encode([7, "0", 15.0]) == [0, 7, 15]
    named = ItemCollection.parse(TEXT.replace("{size: 16}", "{names: ['7', b, no, d, e]}"))
    assert named.encode([7, "no"]) == [0, 2]
    for item in (16, -1, 1.5, None, True, ["1"], float("nan")):
        with pytest.raises(DataError, match="an item of the set is not"):
            numbered.encode([item])
        with pytest.raises(DataError, match="an item of the set is not"):
            named.encode([item])


@pytest.mark.parametrize("items", ["12", b"12", None, 3])
def test_a_set_that_is_no_list_is_refused_and_text_is_not_taken_for_its_letters(items: object) -> None:
    with pytest.raises(
        DataError, match=f"a set is given as a list of its items, and this is a {type(items).__name__}"
    ):
        ItemCollection.parse(TEXT).encode(cast("list[str]", items))


@pytest.mark.parametrize("name", ["007", "16", "-1", "1.0", " 1", "²", "1" * 5_000])
def test_text_that_is_not_exactly_an_items_number_is_refused(name: str) -> None:
    """Numbers of thousands of digits are not even read: Python refuses them with words of its own."""
    collection = parse_collection(TEXT)
    assert isinstance(collection, ItemCollection)
    with pytest.raises(ValueError, match="an item of the set is not a whole number from 0 to 15") as caught:
        collection.encode([name])
    assert name not in str(caught.value) or name in "0 to 15"


def test_a_sample_asks_a_share_of_the_users_of_each_phase_and_changes_the_fingerprint() -> None:
    everybody = ItemCollection.parse(TEXT)
    some = ItemCollection.parse(TEXT + "sample: 0.25\n")
    assert [phase.part for phase in some.method.phases] == [0.25, 0.125, 0.125]
    assert epoch_epsilon(some.method) == epoch_epsilon(everybody.method) == 4
    assert some.fingerprint != everybody.fingerprint
    assert ItemCollection.parse(TEXT + "sample: 1\n").fingerprint == everybody.fingerprint


def test_a_sample_in_which_a_phase_asks_nobody_is_refused() -> None:
    (problem,) = problems_of(TEXT + "sample: 3e-10\n")
    assert problem.startswith("films.yaml:5:9: sample: sample is 3e-10: so small that phase 2 asks nobody")


WITH_ITEMSETS = TEXT.replace("k: 2, set_size: 5", "k: 4, set_size: 3") + "itemsets: {k: 4, sizes: [2, 3]}\n"


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("[2, 3]", "[2, 4]", "5:25: itemsets.sizes: itemsets of 4 items are larger than the sets, of at most 3"),
        (
            "[2, 3]",
            "[1]",
            "5:25: itemsets.sizes: an itemset has from 2 to 4 items, and sizes are 1: single items are",
        ),
        (
            "[2, 3]",
            "[5]",
            "5:25: itemsets.sizes: an itemset has from 2 to 4 items, and sizes are 5: larger ones are too rare",
        ),
        ("[2, 3]", "[2, 2]", "5:25: itemsets.sizes: sizes of itemsets must be distinct, and they are 2 or 2"),
        ("[2, 3]", "[]", "5:25: itemsets.sizes"),
        ("{k: 4, s", "{k: 0, s", "5:15: itemsets.k"),
        ("{k: 4, s", "{s", "5:11: itemsets.k: this key is required"),
        (
            "{k: 4, s",
            "{k: 11, s",
            "5:15: itemsets.k: k is 11, and the 4 items that are found make 10 itemsets of 2 or 3: lower it, or "
            "raise mechanism.k",
        ),
        (
            "gfim",
            "loloha",
            "5:11: itemsets: reports of loloha show a permanent response, and itemsets are asked afresh",
        ),
        ("itemsets", "itemset", "5:1: itemset: unknown key; did you mean 'itemsets'?"),
    ],
)
def test_itemsets_that_cannot_be_asked_about_are_refused_where_they_stand(
    right: str, wrong: str, problem: str
) -> None:
    (found, *_) = problems_of(WITH_ITEMSETS.replace(right, wrong))
    assert problem in found


def test_itemsets_change_the_fingerprint_by_their_sizes_and_not_by_their_number() -> None:
    def meaning(**itemsets: object) -> str:
        return parse_collection(f"{TEXT.replace('k: 2', 'k: 5')}itemsets: {json.dumps(itemsets)}\n").meaning

    assert meaning(k=4, sizes=[2, 3]) == meaning(k=5, sizes=[3, 2]) != meaning(k=4) == meaning(k=4, sizes=[2])
    assert '["count",1717986918,2233382994,4.0,[2,3]],["item",2233382994,4294967296,4.0,[2,3]]' in meaning(
        k=4, sizes=[2, 3]
    )
