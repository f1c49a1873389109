"""Tests of the synthetic records that a collection file asks for."""

import json

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.collection.synthesis import (
    WINDOW_BYTES,
    Synthesis,
    SynthesisSpec,
    SynthesizingCollection,
    record_bytes,
)
from stream_ldp.kafka.topics import ROOM_BYTES, SEGMENT_BYTES
from stream_ldp.kinds import parse_collection
from tests.client.examples import collection_of
from tests.marginals.examples import TEXT as SAMPLED
from tests.views.examples import collection_of as views_of

JOINT = """
collection: care
mechanism: {kind: rr-ldp, f: 0.25}
attributes:
  - {name: bathing, values: [no, yes]}
  - {name: mobility, values: [none, some, full]}
estimates: [{name: both, of: [bathing, mobility]}]
window: {size: 10s}
"""


def test_a_file_asks_for_records_without_another_fingerprint() -> None:
    plain, asking = parse_collection(JOINT), parse_collection(JOINT + "synthesis: {records: 50, seed: 7}\n")
    assert (plain.synthesizes, asking.synthesizes) == (False, True)
    assert isinstance(asking, SynthesizingCollection)
    assert asking.synthesis == SynthesisSpec(records=50, seed=7, method=Synthesis.AUTO)
    assert asking.fingerprint == plain.fingerprint
    assert not collection_of().synthesizes
    assert not views_of().synthesizes


def test_the_bytes_of_a_record_are_the_most_that_it_takes() -> None:
    assert record_bytes((2, 12, 100, 101)) == len(json.dumps([1, 11, 99, 100], separators=(",", ":")) + ",")


def test_a_topic_holds_several_windows() -> None:
    assert WINDOW_BYTES <= SEGMENT_BYTES
    assert ROOM_BYTES >= 4 * WINDOW_BYTES


@pytest.mark.parametrize(
    ("synthesis", "problem"),
    [
        (
            "{records: 11184811}",
            "synthesis.records: 11,184,811 records of up to 6 bytes, with the labels .* at most 11,18",
        ),
        ("{records: 0}", "synthesis.records: .*greater than or equal to 1"),
        ("{seed: 1}", "synthesis.records: "),
        ("{records: 5, method: dense}", "synthesis.method: .*'auto', 'lopub', 'tree' or 'independent'"),
        ("{records: 5, count: 1}", "synthesis.count: "),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_and_what_would_be_right(synthesis: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        parse_collection(f"{JOINT}synthesis: {synthesis}\n")


def of_long_labels(number: int) -> str:
    return JOINT.replace("none, some, full", ", ".join(f"{place}{'x' * 190}" for place in range(number)))


def test_labels_that_would_fill_every_message_are_refused() -> None:
    assert parse_collection(of_long_labels(3_000))
    with pytest.raises(
        CollectionError, match=r"synthesis: the labels of all values have 59\d,\d+ bytes.*at most 512,000"
    ):
        parse_collection(of_long_labels(3_000) + "synthesis: {records: 5}\n")


def test_labels_count_among_what_a_topic_holds() -> None:
    with pytest.raises(CollectionError, match=r"at most 4,[\d,]+$"):
        parse_collection(of_long_labels(2_000) + "synthesis: {records: 6000000}\n")


def test_records_of_pairs_that_cannot_be_solved_are_refused() -> None:
    values = ", ".join(f"v{number}" for number in range(400))
    text = JOINT.replace("[no, yes]", f"[{values}]").replace("[none, some, full]", f"[{values}]")
    text = text.replace("of: [bathing, mobility]", "of: [bathing]")
    assert parse_collection(text)
    with pytest.raises(CollectionError, match="bathing and mobility have 160,000 cells together; at most 131,072"):
        parse_collection(text + "synthesis: {records: 5}\n")


def test_only_collections_with_joint_distributions_make_records() -> None:
    diets = SAMPLED.format(mechanism="epsilon: 1", window="").replace("  - {name: age, range: [0, 100]}\n", "")
    with pytest.raises(CollectionError, match=r"mechanism\.ask"):
        parse_collection(f"{diets}synthesis: {{records: 5}}\n")
    films = "collection: films\nmechanism: {kind: gfim, epsilon: 1, k: 2}\nitems: {size: 5}\nwindow: {size: 1s}\n"
    with pytest.raises(CollectionError, match="synthesis"):
        parse_collection(f"{films}synthesis: {{records: 5}}\n")
