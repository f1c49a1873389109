"""Tests of the records of the partials topic, byte by byte."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.partials import (
    Partial,
    PartialError,
    PartialGroup,
    Watermark,
    decode,
    decode_key,
    encode,
    partition_of,
    together,
)
from stream_ldp.pipeline.statistics import RowCounts

names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=10)
sources = {
    "collection": names,
    "fingerprint": st.binary(min_size=16, max_size=16).map(bytes.hex),
    "partition": st.integers(0, 1_000),
    "generation": st.integers(1, 2**63 - 1),
}
watermarks = st.builds(Watermark, **sources, time_ms=st.integers(-(2**53), 2**53))
partials = st.builds(
    Partial,
    **sources,
    pane_ms=st.integers(-(2**53), 2**53),
    pane_length_ms=st.integers(1, 2**53),
    of=st.lists(names, min_size=1, max_size=3).map(tuple),
    segment=st.integers(0, 1_000),
    end=st.integers(0, 2**63 - 1),
    counts=st.lists(st.integers(0, 31)).map(
        # 10 and 34 are a line's end and a quote in the header's language.
        lambda rows: RowCounts.of(np.array([*rows, 10, 10], dtype=np.uint8).reshape(-1, 1), bits=5)
    ),
)
groups = st.builds(
    lambda first, others: PartialGroup(
        (replace(first, segment=0), *(replace(first, segment=0, of=of, counts=first.counts) for of in others))
    ),
    partials,
    st.lists(st.lists(names, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3),
)


@given(st.one_of(watermarks, partials, groups))
def test_a_record_is_read_back_unchanged(record: Partial | PartialGroup | Watermark) -> None:
    assert decode(encode(record, writer="w")[1]) == record


def test_the_bytes_of_a_record_are_the_same_in_every_release() -> None:
    """A merge reads what workers of the release before have written, and compaction goes by the keys."""
    source: dict[str, Any] = {"collection": "survey", "fingerprint": "0f" * 16, "partition": 3, "generation": 1_700}
    watermark = Watermark(**source, time_ms=-5)
    assert encode(watermark, writer="w") == (
        b'["watermark","survey",3,1700]',
        b'{"collection":"survey","fingerprint":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","partition":3,"epoch":1700,'
        b'"watermark":-5}\n',
    )
    counts = RowCounts.of(np.array([[1], [3], [3]], dtype=np.uint8), bits=2)
    partial = Partial(**source, pane_ms=2_000, pane_length_ms=1_000, of=("a", "b"), segment=4, end=99, counts=counts)
    assert encode(partial, writer="w") == (
        b'["partial","survey",["a","b"],2000,3,4,"w"]',
        b'{"collection":"survey","fingerprint":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f","partition":3,"epoch":1700,'
        b'"pane":[2000,1000],"of":["a","b"],"segment":4,"end":99,"statistic":"rows"}\n'
        b"\x02\0\0\0\x02\0\0\0\x01\x03\x01\0\0\0\x02\0\0\0",
    )


@given(groups, st.integers(1, 10))
def test_a_group_shares_its_key_only_with_those_that_replace_it(group: PartialGroup, later: int) -> None:
    def keyed(**changed: Any) -> bytes:
        return encode(PartialGroup(tuple(replace(each, **changed) for each in group.parts)), writer="w")[0]

    first = group.parts[0]
    key, _ = encode(group, writer="w")
    assert keyed(end=first.end + later) == key
    others = [keyed(**{name: getattr(first, name) + later}) for name in ("partition", "pane_ms")]
    others += [keyed(of=(*first.of, "more")), keyed(collection=first.collection + "2")]
    others += [encode(group, writer="another")[0], encode(first, writer="w")[0]]
    assert key not in others
    assert len(set(others)) == len(others)
    about = decode_key(key)
    assert about is not None
    assert (about.collection, about.source, about.pane_ms, about.writer) == (
        *(group.collection, first.source, group.pane_ms),
        "w",
    )


@given(groups)
def test_a_group_that_is_cut_short_or_too_long_raises_a_partial_error(group: PartialGroup) -> None:
    _, value = encode(group, writer="w")
    for wrong in (value[:-1], value + b"\0"):
        with pytest.raises(PartialError, match="not a partial of this release"):
            decode(wrong)


@given(partials)
def test_a_single_partial_is_no_group(record: Partial) -> None:
    assert together([record]) == record
    assert record.parts == (record,)


@given(partials, st.integers(1, 10))
def test_a_partial_shares_its_key_only_with_those_that_replace_it(record: Partial, later: int) -> None:
    """Compaction keeps the last record of a key: only the same owner may share it, for the same segment."""
    fields = {name: getattr(record, name) for name in Partial.__slots__}
    key, _ = encode(record, writer="w")
    assert encode(Partial(**(fields | {"end": record.end + later})), writer="w")[0] == key
    others = [
        encode(Partial(**(fields | {name: fields[name] + later})), writer="w")[0]
        for name in ("partition", "pane_ms", "segment")
    ]
    others += [
        encode(Partial(**(fields | {"of": (*record.of, "more")})), writer="w")[0],
        encode(Partial(**(fields | {"collection": record.collection + "2"})), writer="w")[0],
        encode(record, writer="another")[0],
    ]
    assert key not in others
    assert len(set(others)) == len(others)


@given(watermarks, st.integers(1, 10))
def test_a_watermark_shares_its_key_only_with_those_that_replace_it(record: Watermark, later: int) -> None:
    """The successor of an owner may write the last watermark of that owner again, with the same key."""
    fields = {name: getattr(record, name) for name in Watermark.__slots__}
    key, _ = encode(record, writer="w")
    assert encode(Watermark(**(fields | {"time_ms": fields["time_ms"] + later})), writer="successor")[0] == key
    for name in ("partition", "generation"):
        assert encode(Watermark(**(fields | {name: fields[name] + later})), writer="w")[0] != key


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\n",
        b"garbage",
        b"\xff\xfe\n",
        b"[]\n",
        b"{}\n",
        b'{"collection":"c","fingerprint":"f","partition":0}\n',
        b'{"collection":"c","fingerprint":"f","partition":0,"epoch":1,"pane":[0]}\n',
        b'{"collection":"c","fingerprint":"f","partition":0,"epoch":1,"pane":[0,1],"of":["a"],"segment":0,"end":1}\n',
        b'{"collection":"c","fingerprint":"f","partition":0,"epoch":1,"pane":[0,1],"of":["a"],"segment":0,"end":1}\n\0',
    ],
)
def test_bytes_that_are_no_record_raise_a_partial_error(value: bytes) -> None:
    with pytest.raises(PartialError, match="not a partial of this release"):
        decode(value)


@pytest.mark.parametrize(
    ("of", "to"),
    [
        (b'"rows"', b'"another statistic"'),
        (b"\x02\0\0\0\x02\0\0\0", b""),
        (b"\x02\0\0\0\x02\0\0\0", b"\x02\0\0\0\x05\0\0\0"),
    ],
)
def test_a_partial_whose_counts_cannot_be_read_raises_a_partial_error(of: bytes, to: bytes) -> None:
    counts = RowCounts.of(np.array([[1], [3], [3]], dtype=np.uint8), bits=2)
    partial = Partial(
        collection="survey",
        fingerprint="0f" * 16,
        partition=3,
        generation=1,
        pane_ms=2_000,
        pane_length_ms=1_000,
        of=("a", "b"),
        segment=4,
        end=99,
        counts=counts,
    )
    value = encode(partial, writer="w")[1]
    assert decode(value) == partial
    assert of in value
    with pytest.raises(PartialError, match="not a partial of this release"):
        decode(value.replace(of, to))


def test_the_partition_of_a_collection_is_the_same_in_every_release() -> None:
    """Otherwise no merge would find its partials. The CRC-32 of these nine digits is its published check value."""
    assert partition_of("123456789", partitions=2**32) == 0xCBF43926
    assert partition_of("123456789", partitions=8) == 6
