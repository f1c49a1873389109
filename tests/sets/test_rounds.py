"""Tests of rounds: which are accepted, what their fingerprint covers, and which are always refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import Inquiry
from stream_ldp.sets.rounds import Round, RoundRefused
from tests.sets.examples import SIZE_MS, collection_of, inquiry_of, round_of

GFIM = collection_of()
ASKED = round_of(GFIM, epoch=5, candidates=[1, 3, 7], padding=2)


def changed(**changes: Any) -> Round:
    return ASKED.model_copy(update=changes)


@given(
    # From the year 1000 to the year 9000.
    epoch=st.integers(-(10**9), 7 * 10**9),
    phase=st.integers(1, 3),
    candidates=st.lists(st.integers(0, 15), min_size=1, max_size=16, unique=True).map(sorted),
    data=st.data(),
)
def test_a_published_round_is_read_back_unchanged_and_accepted(
    epoch: int, phase: int, candidates: list[int], data: st.DataObject
) -> None:
    asked = Round.first(GFIM, epoch=epoch)
    if phase > 1:
        padding = data.draw(st.integers(1, len(candidates)))
        asked = Round.of(GFIM, inquiry_of(phase, candidates, padding=padding), epoch=epoch)
    read = Round.from_bytes(asked.to_bytes())
    assert read == asked
    assert (read.fingerprint, read.key) == (asked.fingerprint, f"{epoch}|{phase}".encode())
    assert read.check(GFIM) == GFIM.method.phases[phase - 1]
    again = read.inquiry.candidates
    assert (again is None) if phase == 1 else (again is not None and again.tolist() == candidates)
    assert read.end_ms - read.start_ms == SIZE_MS


@pytest.mark.parametrize(
    "other",
    [
        changed(collection_fingerprint="00" * 16),
        changed(epoch=6),
        changed(phase=3),
        changed(candidates=(1, 3)),
        changed(candidates=(3, 1, 7)),
        changed(candidates=(13, 7)),
        changed(padding=1),
        changed(missing=True),
    ],
    ids=["collection", "epoch", "phase", "fewer", "other order", "other digits", "padding", "missing"],
)
def test_rounds_that_ask_something_else_have_another_fingerprint(other: Round) -> None:
    assert other.fingerprint != ASKED.fingerprint
    assert len(other.fingerprint) == 16


def test_a_first_phase_has_the_collections_fingerprint_in_every_epoch() -> None:
    """No round needs to be published for it."""
    assert {Round.first(GFIM, epoch=epoch).fingerprint for epoch in range(3)} == {GFIM.fingerprint}


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (changed(collection_fingerprint="00" * 16), "made for collection fingerprint 0000"),
        (changed(phase=4), "phase 4 of a method that has 3"),
        (changed(epsilon=ASKED.epsilon * 1.001), "asks for epsilon 1.602, the collection allows 1.600"),
        (changed(start_ms=ASKED.start_ms + 1), "phase 2 of epoch 5 begins at 160000 ms and lasts a window"),
        (changed(end_ms=ASKED.end_ms + SIZE_MS), "phase 2 of epoch 5 begins at 160000 ms and lasts a window"),
        (changed(epoch=6), "phase 2 of epoch 6 begins at 190000 ms and lasts a window"),
        (changed(candidates=None), "the first phase asks about all items, the later ones about candidates"),
        (changed(candidates=()), "0 candidates; from 1 to 16"),
        (changed(candidates=(1, 2, 2)), "candidates are not in ascending order, each of them once"),
        (changed(candidates=(1, 7, 3)), "candidates are not in ascending order, each of them once"),
        (changed(candidates=(1, 2, 16)), "a candidate is not one of the items 0 to 15"),
        (changed(candidates=(-1, 1, 2)), "a candidate is not one of the items 0 to 15"),
        (changed(padding=4), "pads sets to 4, with only 3 candidates"),
        (changed(missing=True), "phase 2 asks for what sets lack, and follows no count of what they hold"),
    ],
)
def test_a_round_that_the_collection_never_asks_is_refused(forged: Round, why: str) -> None:
    with pytest.raises(RoundRefused, match=f"^{why}"):
        forged.check(GFIM)


def test_what_sets_lack_may_be_asked_for_after_a_count_of_what_they_hold() -> None:
    svim = collection_of("svim")
    counted, asked = (round_of(svim, phase=phase, candidates=[1, 3, 7]) for phase in (2, 3))
    lacked = asked.model_copy(update={"missing": True})
    assert lacked.check(svim) == svim.method.phases[2]
    assert Round.from_bytes(lacked.to_bytes()).inquiry.missing
    with pytest.raises(RoundRefused, match="follows no count"):
        counted.model_copy(update={"missing": True}).check(svim)


@pytest.mark.parametrize(
    "changes",
    [{"candidates": (1, 2)}, {"padding": 2}],
)
def test_a_first_phase_with_candidates_or_other_padding_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RoundRefused):
        Round.first(GFIM, epoch=0).model_copy(update=changes).check(GFIM)


@pytest.mark.parametrize("kind", ["gfim", "gfim-users", "ldpminer", "svim"])
@pytest.mark.parametrize("epsilon", [0.01, pytest.param(4, marks=pytest.mark.long), 22])
def test_reports_can_be_made_for_every_accepted_round(kind: str, epsilon: float) -> None:
    """The paper's form of ldpminer reports one bit for each candidate, of which a report has at most 2^16."""
    for options in ("set_size: 3", "set_size: 3, hash_bits: 1", "set_size: 3, hash_bits: 8"):
        collection = collection_of(kind, options=options, size=70_000, epsilon=epsilon)
        for count in (1, 2, 2**16):
            for padding in (1, count):
                asked = round_of(collection, candidates=list(range(count)), padding=padding)
                assert collection.method.oracle(asked.inquiry).bits > 0
                asked.check(collection)
    with pytest.raises(RoundRefused, match="65537 candidates; from 1 to 65536"):
        round_of(collection, candidates=list(range(2**16 + 1))).check(collection)


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": 10**30, "start_ms": (3 * 10**30 + 1) * SIZE_MS, "end_ms": (3 * 10**30 + 2) * SIZE_MS},
        {"schema_version": 2},
        {"phase": 0},
        {"padding": 0},
        {"epsilon": 0},
        {"epsilon": "NaN"},
        {"collection_fingerprint": "zz"},
        {"candidates": [1.5]},
        {"candidates": ["1"]},
        {"candidates": [True]},
        {"candidates": "all"},
        {"missing": 1},
    ],
    ids=str,
)
def test_a_record_with_an_invalid_field_is_not_read_as_a_round(changes: dict[str, Any]) -> None:
    """A worker or a client that failed at such a record would fail for ever."""
    with pytest.raises(ValueError, match=r"^\w+(\.\d+)?: "):
        Round.from_bytes(json.dumps(json.loads(ASKED.to_bytes()) | changes).encode())


@pytest.mark.parametrize("data", [b"", b"garbage", b"[]", b"null", b"\xff\xfe", b"{" * 10_000])
def test_bytes_that_are_no_round_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^record: "):
        Round.from_bytes(data)


ASKED_SIZES = collection_of("gfim-users", options="set_size: ask", size=200)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"padding": 1}, None),
        ({"padding": 128}, None),
        ({"padding": 129}, "pads sets to 129; at most 128"),
        ({"candidates": (1, 2)}, "the first phase asks about all items"),
        ({"epsilon": 4.1}, "asks for epsilon 4.100, the collection allows 4.000"),
    ],
)
def test_a_round_after_sizes_asks_about_all_items_with_slots_of_its_own(
    changes: dict[str, Any], problem: str | None
) -> None:
    inquiry = Inquiry(phase=2, candidates=None, padding=8)
    asked = Round.of(ASKED_SIZES, inquiry, epoch=5).model_copy(update=changes)
    read = Round.from_bytes(asked.to_bytes())
    assert (read, read.fingerprint) == (asked, asked.fingerprint)
    if problem is None:
        assert asked.check(ASKED_SIZES).number == 2
        assert asked.fingerprint != ASKED_SIZES.fingerprint
        return
    with pytest.raises(RoundRefused, match=problem):
        asked.check(ASKED_SIZES)


def test_a_phase_about_sizes_needs_no_round_and_a_later_one_names_candidates() -> None:
    assert Round.first(ASKED_SIZES, epoch=3).check(ASKED_SIZES).number == 1
    whole = Round.of(ASKED_SIZES, Inquiry(phase=3, candidates=None, padding=8), epoch=3)
    with pytest.raises(RoundRefused, match="the first phase asks about all items"):
        whole.check(ASKED_SIZES)


BASKETS = ItemCollection.parse("""
collection: baskets
mechanism: {kind: ldpminer, epsilon: 4, k: 4, set_size: 3}
items: {size: 16}
itemsets: {k: 3, sizes: [2, 3]}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
""")


@pytest.mark.parametrize(
    ("phase", "candidates", "problem"),
    [
        (3, [[0, 1], [0, 1, 2], [4, 9]], None),
        (4, [[0, 1]], None),
        (2, [[0, 1]], "phase 2 asks about single items"),
        (3, [0, 1], "phase 3 asks about itemsets"),
        (3, [[0, 1, 2, 3]], "another number of items than 2 or 3"),
        (3, [[0]], "another number of items than 2 or 3"),
        (3, [[1, 0]], "the items of an itemset are not in ascending order"),
        (3, [[1, 1]], "the items of an itemset are not in ascending order"),
        (3, [[0, 2], [0, 1, 2]], "candidates are not in ascending order"),
        (3, [[0, 1], [0, 1]], "candidates are not in ascending order"),
        (3, [[0, 16]], "a candidate is not one of the items 0 to 15"),
    ],
)
def test_a_round_about_itemsets_is_taken_only_as_the_collection_asks_about_them(
    phase: int, candidates: list[Any], problem: str | None
) -> None:
    honest = round_of(BASKETS, phase=phase, candidates=[0])
    content = json.loads(honest.to_bytes()) | {"candidates": candidates}
    asked = Round.from_bytes(json.dumps(content).encode())
    if problem is None:
        assert asked.check(BASKETS).number == phase
        assert Round.of(BASKETS, asked.inquiry, epoch=asked.epoch) == asked
        return
    with pytest.raises(RoundRefused, match=problem):
        asked.check(BASKETS)
