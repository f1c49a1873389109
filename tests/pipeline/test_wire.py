"""Tests of the wire format: properties, golden vectors, and the client that is written from docs/wire.md alone."""

import hashlib
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.audit.wire.batch import encoded
from stream_ldp.audit.wire.records import Records
from stream_ldp.mechanisms import RRLDP, GivenWords
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.printable import UNSEEN
from stream_ldp.records.collection import JointCollection
from tests.paths import GOLDEN, REPOSITORY, vectors

SPECIFICATION = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")

FINGERPRINT = bytes(range(100, 116))
BITS = 13
#: What `decode` itself decides; the others are decided by the clock and the windows.
REASONS_OF_BYTES = [
    Reason.TOO_SHORT,
    Reason.BAD_MAGIC,
    Reason.UNKNOWN_VERSION,
    Reason.WRONG_LENGTH,
    Reason.BAD_CHECKSUM,
    Reason.UNKNOWN_FINGERPRINT,
    Reason.ZERO_REPORTS,
    Reason.WRONG_WIDTH,
    Reason.PADDING_BITS,
]


def collection_of(vector: dict[str, Any]) -> JointCollection:
    return JointCollection.load(GOLDEN / f"{vector['collection']}.yaml")


@dataclass(frozen=True, kw_only=True)
class AnyRow:
    """A row format of so many bits in which every row is valid."""

    bits: int

    def valid(self, rows: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.ones(len(rows), dtype=np.bool_)


def rows_of(reports: list[int]) -> NDArray[np.uint8]:
    """Pack integers to rows of `BITS` bits, bit 0 the least significant."""
    return np.frombuffer(b"".join(report.to_bytes(2, "little") for report in reports), np.uint8).reshape(-1, 2)


def batch_of(reports: list[int], *, batch_id: bytes = bytes(16), time_ms: int = 0) -> wire.Batch:
    return wire.Batch(fingerprint=FINGERPRINT, batch_id=batch_id, time_ms=time_ms, rows=rows_of(reports))


def decode(*records: bytes) -> wire.Decoded:
    return wire.decode(records, formats={FINGERPRINT: AnyRow(bits=BITS)})


batches = st.builds(
    batch_of,
    st.lists(st.integers(0, 2**BITS - 1), min_size=1, max_size=20),
    batch_id=st.binary(min_size=16, max_size=16),
    time_ms=st.integers(-(2**63), 2**63 - 1),
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Draw a good batch, one with padding set, one with changed bytes and a mended checksum or not, or any bytes."""
    if draw(st.booleans()) and draw(st.booleans()):
        return draw(st.binary(max_size=80))
    reports = st.integers(0, 2 ** draw(st.sampled_from([BITS, BITS, 16])) - 1)
    record = bytearray(wire.encode(batch_of(draw(st.lists(reports, min_size=1, max_size=5)))))
    for _ in range(draw(st.integers(0, 2))):
        record[draw(st.integers(0, len(record) - 1))] = draw(st.integers(0, 255))
    del record[len(record) - draw(st.sampled_from([0, 0, 0, 1, 2])) :]
    if draw(st.booleans()):
        record[4:8] = struct.pack("<I", zlib.crc32(record[8:]))
    return bytes(record)


@given(batches)
def test_decoding_gives_what_was_encoded(batch: wire.Batch) -> None:
    decoded = decode(wire.encode(batch))
    assert decoded.rejected == []
    assert decoded.accepted.tolist() == [0]
    assert decoded.time_ms.tolist() == [batch.time_ms]
    assert decoded.batch_ids == [batch.batch_id]
    assert decoded.counts.tolist() == [len(batch.rows)]
    assert np.array_equal(decoded.rows[0], batch.rows)


@given(st.lists(records(), max_size=8))
def test_any_bytes_are_either_counted_or_refused_for_one_reason(some: list[bytes]) -> None:
    decoded = decode(*some)
    positions = decoded.accepted.tolist() + [position for position, _ in decoded.rejected]
    assert sorted(positions) == list(range(len(some)))
    assert len(decoded.accepted) == len(decoded.time_ms) == len(decoded.batch_ids) == len(decoded.counts)
    assert len(decoded.rows[0]) == decoded.counts.sum()
    assert all(rejected.reason in REASONS_OF_BYTES for _, rejected in decoded.rejected)


@given(st.lists(records(), max_size=8))
def test_decoding_many_batches_at_once_gives_what_decoding_each_gives(some: list[bytes]) -> None:
    together = decode(*some)
    alone = [decode(record) for record in some]
    assert together.accepted.tolist() == [i for i, one in enumerate(alone) if len(one.accepted)]
    assert together.time_ms.tolist() == [time for one in alone for time in one.time_ms.tolist()]
    assert together.batch_ids == [batch_id for one in alone for batch_id in one.batch_ids]
    assert together.counts.tolist() == [count for one in alone for count in one.counts.tolist()]
    assert together.rows[0].tolist() == [row for one in alone for row in one.rows[0].tolist()]
    assert [(position, rejected.reason, rejected.detail) for position, rejected in together.rejected] == [
        (i, rejected.reason, rejected.detail) for i, one in enumerate(alone) for _, rejected in one.rejected
    ]


def test_records_of_one_length_are_decoded_together_as_one_by_one() -> None:
    good = [wire.encode(batch_of([number, 3], batch_id=bytes([number]) * 16)) for number in range(5)]
    spoiled = [good[0][:-1] + b"\xff", *good[1:], b"junk" * (len(good[0]) // 4)]
    records = wire.EqualRecords(np.frombuffer(b"".join(spoiled), np.uint8).reshape(len(spoiled), -1))
    assert list(records) == spoiled
    together, apart = decode(*spoiled), wire.decode(records, formats={FINGERPRINT: AnyRow(bits=BITS)})
    assert together.batch_ids == apart.batch_ids == [bytes([number]) * 16 for number in range(1, 5)]
    assert [(at, str(why)) for at, why in together.rejected] == [(at, str(why)) for at, why in apart.rejected]
    assert np.array_equal(together.rows[0], apart.rows[0])
    short = wire.EqualRecords(np.zeros((2, 3), dtype=np.uint8))
    assert [why.reason for _, why in wire.decode(short, formats={}).rejected] == [Reason.TOO_SHORT] * 2


def test_a_batch_with_any_one_bit_flipped_is_refused() -> None:
    record = wire.encode(batch_of([0, 1, 2**BITS - 1], batch_id=bytes(range(16)), time_ms=1_760_000_000_000))
    flipped = []
    for bit in range(8 * len(record)):
        copy = bytearray(record)
        copy[bit // 8] ^= 1 << bit % 8
        flipped.append(bytes(copy))
    decoded = decode(*flipped)
    assert decoded.accepted.tolist() == []
    assert [position for position, _ in decoded.rejected] == list(range(len(flipped)))


def test_a_batch_cut_anywhere_is_refused() -> None:
    record = wire.encode(batch_of([7, 8, 9]))
    decoded = decode(*(record[:length] for length in range(len(record))))
    reasons = [rejected.reason for _, rejected in decoded.rejected]
    body = len(record) - wire.HEADER_BYTES
    assert reasons == [Reason.TOO_SHORT] * wire.HEADER_BYTES + [Reason.WRONG_LENGTH] * body


@pytest.mark.parametrize("count", [0, wire.MAX_REPORTS + 1])
def test_a_batch_of_a_size_that_no_reader_takes_is_not_encoded(count: int) -> None:
    with pytest.raises(ValueError, match=r"1 to 1048576 reports"):
        wire.encode(batch_of([0] * count))


def test_a_batch_id_of_the_wrong_length_is_not_encoded() -> None:
    with pytest.raises(ValueError, match=r"16 bytes"):
        wire.encode(batch_of([0], batch_id=b"short"))


# Golden vectors: a change that one of them sees is another wire version.


def test_fingerprints_match_the_golden_vectors() -> None:
    for vector in vectors("fingerprint"):
        collection = collection_of(vector)
        assert collection.mechanism.meaning == vector["thresholds"]
        assert collection.fingerprint.hex() == vector["fingerprint"]
        assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]


def test_samples_of_the_users_match_the_golden_vectors() -> None:
    vector = vectors("samples")[0]
    collection = JointCollection.model_validate({**collection_of(vector).document, "sample": vector["sample"]})
    assert collection.fingerprint.hex() == vector["fingerprint"]
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]
    assert vector["fingerprint"] in SPECIFICATION
    for asked in vector["asked"]:
        assert str(asked["word"]) in SPECIFICATION
        for time_ms in (asked["number"] * 60_000, asked["number"] * 60_000 + 59_999):
            (asks,) = collection.asks([bytes.fromhex(vector["secret"])], time_ms=time_ms)
            assert asks == asked["asks"] == (asked["word"] < vector["words"])


def test_permanent_responses_match_the_golden_vectors() -> None:
    for vector in vectors("permanent_response"):
        collection = collection_of(vector)
        values = collection.encode(vector["record"])
        words = collection.permanent_words().words(bytes.fromhex(vector["secret"]), values)
        bits = collection.mechanism.permanent(np.array([values]), GivenWords(words))[0]
        assert list(values) == vector["values"]
        assert words.tolist() == vector["words"]
        assert "".join(map(str, bits.astype(int))) == vector["bits"]


def test_a_permanent_bit_is_inverted_exactly_by_words_below_the_threshold() -> None:
    mechanism = JointCollection.load(GOLDEN / "care-survey.yaml").mechanism
    assert isinstance(mechanism, RRLDP)
    below, at = mechanism.flip_threshold - 1, mechanism.flip_threshold
    words = np.array([[at, below, below, at, at]], dtype=np.uint32)
    assert mechanism.permanent(np.array([[0, 1]]), GivenWords(words)).astype(int).tolist() == [[1, 1, 1, 1, 0]]


def test_instantaneous_responses_match_the_golden_vectors() -> None:
    for vector in vectors("instantaneous_response"):
        permanent = np.array([[bit == "1" for bit in vector["permanent"]]]).view(np.uint8)
        reported = collection_of(vector).mechanism.instantaneous(
            permanent, GivenWords(np.array(vector["words"], dtype=np.uint32))
        )
        assert "".join(map(str, reported[0].astype(int))) == vector["report"]
        assert np.packbits(reported, axis=1, bitorder="little").tobytes().hex() == vector["row"]


def test_batches_match_the_golden_vectors() -> None:
    for vector in vectors("batches"):
        collection = collection_of(vector)
        rows = np.frombuffer(bytes.fromhex("".join(vector["rows"])), np.uint8).reshape(len(vector["rows"]), -1)
        batch = wire.Batch(
            fingerprint=collection.fingerprint,
            batch_id=bytes.fromhex(vector["batch_id"]),
            time_ms=vector["time_ms"],
            rows=rows,
        )
        encoded = bytes.fromhex(vector["encoded"])
        assert wire.encode(batch) == encoded
        decoded = wire.decode([encoded], formats={collection.fingerprint: AnyRow(bits=collection.mechanism.bits)})
        assert decoded.rejected == []
        assert np.array_equal(decoded.rows[0], rows)
        assert decoded.time_ms.tolist() == [vector["time_ms"]]


def test_malformed_golden_batches_are_refused_with_their_reasons() -> None:
    collection = JointCollection.load(GOLDEN / "care-survey.yaml")
    malformed = vectors("malformed")
    decoded = wire.decode(
        [bytes.fromhex(vector["record"]) for vector in malformed],
        formats={collection.fingerprint: AnyRow(bits=collection.mechanism.bits)},
    )
    assert decoded.accepted.tolist() == []
    assert [str(rejected.reason) for _, rejected in decoded.rejected] == [vector["reason"] for vector in malformed]
    assert {vector["reason"] for vector in malformed} == set(REASONS_OF_BYTES)


# The specification.


def test_the_specification_places_every_field_where_the_code_does() -> None:
    section = SPECIFICATION.split("## 6.")[1].split("## 7.")[0]
    table = re.findall(r"^\| (\d+) \| (\d+) \| (?:bytes|[ui]\d+) \| ([\w ]+) \|", section, flags=re.MULTILINE)
    layout = wire._HEADER.fields
    assert layout is not None
    assert [(int(offset), int(size), name) for offset, size, name in table] == [
        (offset, dtype.itemsize, {"time_ms": "time"}.get(name, name.replace("_", " ")))
        for name, (dtype, offset, *_) in layout.items()
    ]


def test_the_examples_of_the_specification_are_golden_vectors() -> None:
    written = re.sub(r"\s", "", SPECIFICATION)
    fingerprint = vectors("fingerprint")[0]
    assert fingerprint["canonical"] in SPECIFICATION
    assert fingerprint["fingerprint"] in SPECIFICATION
    assert all(str(threshold) in SPECIFICATION for threshold in fingerprint["thresholds"])
    for response in vectors("permanent_response")[:2]:
        assert all(str(word) in SPECIFICATION for word in response["words"])
        assert f"`{response['bits']}`" in SPECIFICATION
    assert vectors("batches")[0]["encoded"] in written
    assert zlib.crc32(b"123456789") == 0xCBF43926


label = st.from_regex(rf"[^{UNSEEN}\ud800-\udfff]{{1,8}}", fullmatch=True)


@st.composite
def surveys(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[str]]]]:
    names = draw(st.lists(label, min_size=1, max_size=4, unique=True))
    values = st.lists(label, min_size=2, max_size=40, unique=True)
    return draw(st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)), [(name, draw(values)) for name in names]


@given(
    survey=surveys(), noise=st.sampled_from([(0.25, 0.25, 0.75), (0.3, 0.0, 1.0), (0.1, None, None)]), data=st.data()
)
def test_a_client_written_from_the_specification_alone_sends_the_same_bytes(
    survey: tuple[str, list[tuple[str, list[str]]]],
    noise: tuple[float, float | None, float | None],
    data: st.DataObject,
) -> None:
    name, attributes = survey
    given = zip("fpq", noise, strict=True)
    file = {
        "collection": name,
        "mechanism": {"kind": "rr-ldp", **{key: value for key, value in given if value is not None}},
        "attributes": [{"name": attribute, "values": values} for attribute, values in attributes],
        "window": {"size": "60s"},
        "estimates": [{"name": "one", "of": [attributes[0][0]]}],
    }
    collection = JointCollection.model_validate(file)
    secret = data.draw(st.binary(min_size=32, max_size=32))
    record = {attribute: data.draw(st.sampled_from(values)) for attribute, values in attributes}
    bits = collection.mechanism.bits
    words = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=bits, max_size=bits))
    batch_id = data.draw(st.binary(min_size=16, max_size=16))

    codes = collection.encode(record)
    rows = collection.mechanism.perturb(
        np.array([codes]),
        entropy=GivenWords(np.array(words, dtype=np.uint32)),
        permanent_words=collection.permanent_words().words(secret, codes)[None, :],
    )
    ours = wire.encode(wire.Batch(fingerprint=collection.fingerprint, batch_id=batch_id, time_ms=1, rows=rows))

    client = Records(file)
    row = client.report(secret, record, time_ms=1, fresh_words=words)
    assert row is not None
    theirs = encoded([row], fingerprint=client.fingerprint, batch_id=batch_id, time_ms=1)
    assert ours.hex() == theirs.hex()
