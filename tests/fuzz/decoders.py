"""List every decoder of bytes that others write, what it may raise, and how much memory it may take."""

import atexit
import json
import os
import struct
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from aiokafka.record.util import calc_crc32c

from stream_ldp.cli.record_description import describe
from stream_ldp.collection import CollectionError
from stream_ldp.collection.collection import milliseconds
from stream_ldp.errors import ParameterError
from stream_ldp.kafka import record_batch
from stream_ldp.kafka.decompression import MAX_EXPANDED_BYTES
from stream_ldp.kafka.registry import Registration
from stream_ldp.kinds import KINDS, kind_of, parse_collection, solve
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.store import FileStore, LedgerError
from stream_ldp.ledger.terms import Terms
from stream_ldp.marginals.answer import Marginals
from stream_ldp.pairs.answer import PairEstimates
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import final_of
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
from stream_ldp.pipeline.partials import Partial, PartialError, Watermark
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.statistics import ReportSums, RowCounts, RowTable
from stream_ldp.pipeline.statistics.report_sums import MAX_COUNTERS
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.linking import LinkedUsers
from stream_ldp.schemas import FOLDER
from stream_ldp.service.dead_letters import DeadLetter, Refused, dead_letter
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.rounds import Round
from stream_ldp.strings.answer import StringRanking
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.fuzz import forged
from tests.paths import GOLDEN
from tests.sets.examples import collection_of as sets_collection
from tests.sets.examples import round_of

#: Bytes that a decoder may take whatever its input: the parser's own tables, and what is loaded at the first use.
FIXED_BYTES = 8 * 2**20

_FINGERPRINT = bytes(range(100, 116))
_BITS = 13


#: CPU seconds that a decoder may take whatever its input, and for each byte of it: some hundred times what it takes
#: on an idle machine, without what traces its memory and its branches.
FIXED_SECONDS = 2.0
SECONDS_A_BYTE = 1e-4


class TooMuch(Exception):
    """A decoder has taken more memory, or time, than it may for the length of its input."""


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A decoder of bytes.

    decode: what is called with any bytes.
    refuses: the exceptions by which it may say that the bytes are not what it reads.
    examples: bytes that it reads.
    times: bytes of memory that it may take for each byte of its input, beside `fixed`.
    fixed: bytes that it may take whatever its input.
    repair: makes damaged bytes pass a checksum that would otherwise hide all that is behind it.
    """

    decode: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...]
    examples: Callable[[], Sequence[bytes]]
    times: int
    fixed: int = FIXED_BYTES
    repair: Callable[[bytes], bytes] = bytes

    def warm(self) -> None:
        """Decode the examples, whole and damaged, so that what is loaded at the first use counts for no input."""
        for each in self.examples():
            for data in (each, each[:-1] + b"\xff", each[: len(each) // 2]):
                with suppress(*self.refuses):
                    self.decode(self.repair(data))

    def check(self, data: bytes, *, timed: bool = False) -> bool:
        """Decode any bytes, and return whether they could be read; whatever else is raised is a fault.

        timed: whether the time counts too, which a unit test must not depend on.

        Raises:
            TooMuch: more memory, or time, was taken than the input allows.
        """
        began = time.thread_time()
        measuring = tracemalloc.is_tracing()
        if not measuring:
            tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        try:
            self.decode(self.repair(data))
        except self.refuses:
            read = False
        else:
            read = True
        finally:
            _, peak = tracemalloc.get_traced_memory()
            if not measuring:
                tracemalloc.stop()
        took = time.thread_time() - began
        if timed and took > FIXED_SECONDS + SECONDS_A_BYTE * len(data):
            raise TooMuch(f"{took:.2f} s for {len(data):,} bytes: {data[:1_000]!r}")
        if peak - before > self.fixed + self.times * len(data):
            raise TooMuch(f"{peak - before:,} bytes of memory for {len(data):,} bytes: {data[:1_000]!r}")
        return read


@dataclass(frozen=True)
class _AnyRow:
    bits: int = _BITS

    def valid(
        self, rows: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return np.ones(len(rows), dtype=np.bool_)


def _decode_batch(data: bytes) -> None:
    found = wire.decode([data, data[:50]], formats={_FINGERPRINT: _AnyRow()})
    wire.fingerprints([data])
    wire.Header.of(data)
    verdicts = {*found.accepted.tolist(), *(place for place, _ in found.rejected)}
    assert verdicts == {0, 1}, "every record has one verdict"
    assert all(why.reason in Reason and why.detail for _, why in found.rejected)


def _batches() -> list[bytes]:
    rows = np.arange(10, dtype=np.uint8).reshape(5, 2)
    made = wire.Batch(fingerprint=_FINGERPRINT, batch_id=bytes(16), time_ms=1_700_000_000_000, rows=rows)
    return [wire.encode(made), wire.encode(made)[:-3]]


@cache
def _linked() -> JointCollection:
    text = (GOLDEN / "care-survey.yaml").read_text(encoding="utf-8")
    return JointCollection.parse(text.replace("\nwindow:", "\nlinked: 7d\nwindow:"))


def _count_linked_batch(data: bytes) -> None:
    """Decode a batch whose rows begin with pseudonyms, and gather the reports of each user."""
    collection = _linked()
    layout = JointLayout(collection)
    found = wire.decode([data], formats={collection.fingerprint: layout})
    tallies = layout.tallies()
    for rows in found.rows:
        layout.count(tallies, rows)
    for of, tally in tallies.items():
        for counts in tally.take_changed(closing=True).values():
            assert isinstance(counts, RowCounts)
            LinkedUsers.of([counts], bits=len(collection.bits_of(of)))


def _linked_batches() -> list[bytes]:
    collection = _linked()
    rows = np.zeros((5, (collection.bits + 7) // 8), dtype=np.uint8)
    rows[:, 0] = range(5)
    made = wire.Batch(fingerprint=collection.fingerprint, batch_id=bytes(16), time_ms=1_700_000_000_000, rows=rows)
    return [wire.encode(made)]


def _decode_dead_letter(data: bytes) -> None:
    """Read a record with any headers: names and values, a line each; without "=" there is no value."""
    parts = [line.partition(b"=") for line in data.split(b"\n")]
    headers = [(name.decode(errors="replace"), value if is_there else None) for name, is_there, value in parts]
    record: Any = SimpleNamespace(offset=7, timestamp=1_000, headers=headers, value=data)
    DeadLetter.of(record)


def _dead_letters() -> list[bytes]:
    refused = Refused(topic="p.care-survey.reports", partition=3, offset=9, value=b"no batch")
    why = Rejected(Reason.TOO_SHORT, "8 bytes, a header has 56")
    made = dead_letter(refused, why, collection=_linked(), topic="p.care-survey.dead-letters")
    return [b"\n".join(name.encode() + b"=" + value for name, value in made.headers)]


def _decode_merge_commit(data: bytes) -> None:
    text = data.decode(errors="replace")
    if MergeCheckpoint.parse(answers=1, partials=2, metadata=text, collection=_linked()) is None:
        raise ValueError("it begins anew")


def _merge_commits() -> list[bytes]:
    made = MergeCheckpoint(answers=1, partials=2, forgotten_before_ms=1_700_000_000_000)
    return [made.metadata(_linked()).encode()]


def _chunks() -> list[bytes]:
    return [vector["value"].encode() for vector in json.loads((GOLDEN / "records.json").read_text())]


def _with_crc32(data: bytes) -> bytes:
    return data[:4] + zlib.crc32(data[8:]).to_bytes(4, "little") + data[8:] if len(data) >= 8 else data


def _partials() -> list[bytes]:
    source = {"collection": "survey", "fingerprint": "ab" * 16, "partition": 0, "generation": 1}
    pane = {"pane_ms": 0, "pane_length_ms": 1_000, "of": ("bathing",), "segment": 0, "end": 7}
    rows = RowCounts.of(np.array([[1], [1], [2]], dtype=np.uint8), bits=2)
    table = RowTable.of(np.array([0, 2, 1, 300]), bits=2)
    sums = [
        ReportSums.of(reports=3, values=np.array(values, dtype=np.int64)) for values in ((1, 2), (0,) * 90 + (1,))
    ]
    records: list[Partial | Watermark | Saved] = [
        *(Partial(**source, **pane, counts=counts) for counts in (rows, table, *sums)),  # type: ignore[arg-type]
        Watermark(**source, time_ms=5_000),  # type: ignore[arg-type]
        Saved.of_hashes(np.array([1, 2**63], dtype=np.uint64), **source),
    ]
    return [partials.encode(record, writer="w")[1] for record in records]


def _keys() -> list[bytes]:
    return [b'["partial","survey",["a"],0,1,0,"w"]', b'["watermark","survey",0,1]']


def _estimates() -> list[bytes]:
    """Return an estimate, whose parts have to fit each other."""
    collection = JointCollection.load(GOLDEN / "care-survey.yaml")
    bits = len(collection.bits_of(collection.estimates[0].of))
    counts = RowCounts.of(np.zeros((9, (bits + 7) // 8), dtype=np.uint8), bits=bits)
    task: WindowTask[Any, Any] = WindowTask(
        series=collection.estimates[0], window_ms=0, final=True, windows=((1.0, (counts,)),), before=None
    )
    return [solve(collection, task).to_bytes()]


def _answers(name: str) -> list[bytes]:
    """Return the example of a message that is shipped beside its schema."""
    return [(FOLDER / "examples" / f"{name}-v1.json").read_bytes()]


def _rounds() -> list[bytes]:
    return [vector["round"].encode() for vector in json.loads((GOLDEN / "rounds.json").read_text())]


def _registrations() -> list[bytes]:
    return [b'{"fingerprint": "' + b"ab" * 16 + b'", "document": {"collection": "survey"}}']


def _stored() -> list[bytes]:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder  # noqa: PLC0415

    found = []
    for codec in range(5):
        builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 2**20)
        for offset in range(3):
            builder.append(offset, 1_700_000_000_000, b"key", b"value" * 30, [("name", b"content")])
        found.append(bytes(builder.build()))
    return found


def _with_crc32c(data: bytes) -> bytes:
    """Repair the length and the checksum of the first record batch."""
    if len(data) < 61:
        return data
    return (
        data[:8]
        + struct.pack(">i", len(data) - 12)
        + data[12:17]
        + struct.pack(">I", calc_crc32c(data[21:]))
        + data[21:]
    )


@cache
def _ledger_file() -> tuple[Path, bytes, list[bytes]]:
    """Write a ledger, and return its file, its secret and what it holds."""
    directory = tempfile.TemporaryDirectory(prefix="stream-ldp-fuzz-")
    atexit.register(directory.cleanup)
    path, secret = Path(directory.name) / "user.ledger", os.urandom(32)
    PrivacyLedger.create(path, secret=secret, terms=Terms(budget=10.0))
    return path, secret, [path.read_bytes()]


def _decode_ledger(data: bytes) -> None:
    path, secret, _ = _ledger_file()
    path.write_bytes(data)
    path.chmod(0o600)
    PrivacyLedger.open(path, secret=secret, terms=None)


def _sealed(data: bytes) -> bytes:
    path, secret, _ = _ledger_file()
    content = data.partition(b"\n")[0]
    return content + b"\n" + FileStore(path, secret=secret)._seal(content) + b"\n"


def _decode_collection(data: bytes) -> None:
    with suppress(UnicodeDecodeError):
        parse_collection(data.decode())


def _collections() -> list[bytes]:
    return [(GOLDEN / name).read_bytes() for name in ("care-survey.yaml", "films.yaml", "apps.yaml")]


def _decode_duration(data: bytes) -> None:
    with suppress(UnicodeDecodeError):
        milliseconds(data.decode())


def _decode_key(data: bytes) -> None:
    if final_of(data) is None:
        raise ValueError("not the key of a final")


def _decode_round(data: bytes) -> None:
    """Read a round as workers and clients of a collection do, who then count and make reports to it."""
    kind, collection = kind_of(FILMS), FILMS
    assert kind.rounds is not None
    asked = kind.rounds.read(collection, data)
    assert len(kind.rounds.layout(collection, asked).fingerprint) == 16


def _rounds_of_films() -> list[bytes]:
    return [
        Round.first(FILMS, epoch=3).to_bytes(),
        round_of(FILMS, epoch=5, candidates=[1, 3, 7], padding=2).to_bytes(),
    ]


def _describe(data: bytes) -> None:
    """Describe a record of each topic of a collection, as `inspect record` does."""
    layout = kind_of(FILMS).layout(FILMS)
    headers = [("reason", b"too_short"), ("source-topic", data[:20]), ("source-offset", data[:5])]
    record: Any = SimpleNamespace(
        value=data,
        key=data[:30],
        offset=1,
        partition=0,
        timestamp=int.from_bytes(data[:8], "little"),
        headers=headers,
    )
    for suffix in ("reports", "partials", "rounds", "dead-letters", "collections", "records", "heavy-hitters"):
        what, said = describe(record, suffix, FILMS, layouts={layout.fingerprint: layout})
        assert what
        json.dumps(said)


def _any_record() -> list[bytes]:
    return [*_batches(), *_partials(), *_rounds_of_films(), *_registrations(), *_chunks()[:1], *_answers("ranking")]


def _finals_of(name: str, data: bytes) -> None:
    forged.answers_from(forged.COLLECTIONS[name](), data)


#: Choices of a forger: none but the first ones, and some.
_CHOICES = [b"", bytes(range(40)), bytes(range(200, 100, -1)), b"\x03\x01" * 60]

FILMS = sets_collection()

_Refusal = tuple[type[Exception], ...]
_VALUE: _Refusal = (ValueError,)

#: By name: every decoder of what comes from outside the process.
DECODERS: dict[str, Decoder] = {
    "batches": Decoder(decode=_decode_batch, refuses=(), examples=_batches, times=64, repair=_with_crc32),
    "linked-batches": Decoder(
        decode=_count_linked_batch, refuses=(), examples=_linked_batches, times=256, repair=_with_crc32
    ),
    "partials": Decoder(
        decode=partials.decode,
        refuses=(PartialError,),
        examples=_partials,
        times=64,
        # The widest vector of sums, of which zeros are not written out.
        fixed=8 * MAX_COUNTERS + FIXED_BYTES,
    ),
    "partial-keys": Decoder(decode=partials.decode_key, refuses=(), examples=_keys, times=64),
    "rounds": Decoder(decode=Round.from_bytes, refuses=_VALUE, examples=_rounds, times=256),
    "estimates": Decoder(decode=Estimate.from_bytes, refuses=_VALUE, examples=_estimates, times=512),
    "rankings": Decoder(decode=Ranking.from_bytes, refuses=_VALUE, examples=lambda: _answers("ranking"), times=512),
    "marginals": Decoder(
        decode=Marginals.from_bytes, refuses=_VALUE, examples=lambda: _answers("marginals"), times=512
    ),
    "strings": Decoder(
        decode=StringRanking.from_bytes, refuses=_VALUE, examples=lambda: _answers("stringranking"), times=512
    ),
    "pairs": Decoder(
        decode=PairEstimates.from_bytes, refuses=_VALUE, examples=lambda: _answers("pairestimates"), times=512
    ),
    "places": Decoder(
        decode=PlaceCounts.from_bytes, refuses=_VALUE, examples=lambda: _answers("placecounts"), times=512
    ),
    "synthetic-records": Decoder(decode=SyntheticChunk.from_bytes, refuses=_VALUE, examples=_chunks, times=512),
    "dead-letters": Decoder(decode=_decode_dead_letter, refuses=_VALUE, examples=_dead_letters, times=256),
    "registry": Decoder(
        decode=lambda data: Registration.from_record(b"survey", data),
        refuses=_VALUE,
        examples=_registrations,
        times=256,
    ),
    "commits": Decoder(
        decode=lambda data: Checkpoint.parse(0, data.decode(errors="replace")),
        refuses=_VALUE,
        examples=lambda: [b'{"epoch": 1, "position": 5, "watermark_ms": null, "watermark_epoch": 1}'],
        times=256,
    ),
    "merge-commits": Decoder(decode=_decode_merge_commit, refuses=_VALUE, examples=_merge_commits, times=256),
    "record-batches": Decoder(
        decode=lambda data: list(record_batch.parse(record_batch.split(data), start=0, end=100)),
        refuses=(),
        examples=_stored,
        times=64,
        # What a batch may expand to, and a copy of it.
        fixed=2 * MAX_EXPANDED_BYTES + FIXED_BYTES,
        repair=_with_crc32c,
    ),
    "ledger": Decoder(
        decode=_decode_ledger,
        refuses=(LedgerError,),
        examples=lambda: _ledger_file()[2],
        times=256,
        repair=_sealed,
    ),
    "durations": Decoder(
        decode=_decode_duration, refuses=(ParameterError,), examples=lambda: [b"60s", b" 007 h "], times=64
    ),
    "keys-of-finals": Decoder(
        decode=_decode_key, refuses=_VALUE, examples=lambda: [b"both|final|-17", b"both|live"], times=64
    ),
    "rounds-of-a-collection": Decoder(
        decode=_decode_round, refuses=_VALUE, examples=_rounds_of_films, times=256, fixed=16 * 2**20
    ),
    "described": Decoder(decode=_describe, refuses=(), examples=_any_record, times=2_048, fixed=16 * 2**20),
    **{
        f"finals-of-{name}": Decoder(
            decode=partial(_finals_of, name),
            refuses=(forged.Taken,),
            examples=lambda: _CHOICES,
            times=1_024,
            fixed=2**26,
        )
        for name in forged.COLLECTIONS
    },
    **{
        f"shown-{kind}": Decoder(
            decode=partial(forged.show, kind),
            refuses=(forged.Taken,),
            examples=lambda: _CHOICES,
            times=4_096,
            fixed=2**25,
        )
        for kind in KINDS
    },
    **{
        f"following-{kind}": Decoder(
            decode=partial(forged.follow, kind, kind),
            refuses=(forged.Taken,),
            examples=lambda: _CHOICES,
            times=4_096,
            fixed=2**26,
        )
        for kind in KINDS
    },
    "collection": Decoder(decode=_decode_collection, refuses=(CollectionError,), examples=_collections, times=4_096),
}
