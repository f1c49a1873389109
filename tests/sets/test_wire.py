"""Tests of the wire format of item sets: golden vectors, and a second client written from docs/wire.md alone."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, HadamardResponse, UnaryResponse
from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.pipeline import wire
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.phases import Inquiry, Phase, RankingEstimate, Target
from stream_ldp.sets.rounds import Round, RoundRefused
from tests.paths import GOLDEN, REPOSITORY

SPECIFICATION = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")


def vectors(name: str) -> list[Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def collection_of(name: str) -> ItemCollection:
    return ItemCollection.load(GOLDEN / f"{name}.yaml")


def oracle_of(kind: str, parameters: dict[str, Any]) -> FrequencyOracle:
    match kind:
        case "direct":
            return DirectResponse(**parameters)
        case "hadamard":
            return HadamardResponse(**parameters)
        case "set-hadamard":
            return SetHadamardResponse(**parameters)
        case _:
            return UnaryResponse(**parameters)


def kept_of(oracle: FrequencyOracle) -> int:
    match oracle:
        case DirectResponse() | SetHadamardResponse():
            return oracle.kept
        case HadamardResponse() | UnaryResponse():
            (kept,) = oracle.response.chances
            return kept
        case _:
            raise AssertionError(oracle)


def supported(oracle: FrequencyOracle, row: bytes) -> list[int]:
    """List the values that a report supports, as a worker decodes it."""
    rows = np.frombuffer(row, np.uint8)[None, :]
    assert oracle.valid(rows).all()
    return np.flatnonzero(oracle.supports(oracle.sums(rows), reports=1) > 0.5).tolist()


# The code against the golden vectors.


def test_fingerprints_of_item_collections_match_the_golden_vectors() -> None:
    for vector in vectors("item_fingerprints"):
        collection = collection_of(vector["collection"])
        assert collection.fingerprint.hex() == vector["fingerprint"]
        assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]
        assert vector["canonical"] in SPECIFICATION or collection.name == "apps"


def test_round_fingerprints_match_the_golden_vectors() -> None:
    for vector in vectors("rounds"):
        asked = Round.from_bytes(vector["round"].encode())
        if list(asked.candidates or ()) == sorted(asked.candidates or ()):
            asked.check(collection_of(asked.collection))
        else:
            with pytest.raises(RoundRefused, match=r"ascending"):
                asked.check(collection_of(asked.collection))
        assert asked.fingerprint.hex() == vector["fingerprint"]
        assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]


def test_samples_of_the_users_match_the_golden_vectors() -> None:
    vector = vectors("samples")[1]
    films = collection_of("films")
    collection = ItemCollection.model_validate({**films.document, "sample": vector["sample"]})
    assert collection.fingerprint.hex() == vector["fingerprint"]
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]
    assert [phase.share for phase in collection.method.phases] == [
        (0, 42949673),
        (0, 21474836),
        (21474836, 42949673),
    ]
    for asked in vector["asked"]:
        words = partition_words(
            [bytes.fromhex(vector["secret"])], fingerprint=collection.fingerprint, epoch=asked["number"]
        )
        assert words.tolist() == [asked["word"]]
        assert collection.method.phases[0].asks(words)[0] == asked["asks"]


def test_user_partition_words_match_the_golden_vectors() -> None:
    for vector in vectors("group_words"):
        secret, fingerprint = bytes.fromhex(vector["secret"]), bytes.fromhex(vector["fingerprint"])
        assert partition_words([secret], fingerprint=fingerprint, epoch=vector["epoch"]).tolist() == [vector["word"]]


@pytest.mark.parametrize("vector", vectors("responses"), ids=lambda vector: f"{vector['kind']}-{vector['row']}")
def test_a_worker_reads_golden_responses_as_they_were_sent(vector: dict[str, Any]) -> None:
    oracle = oracle_of(vector["kind"], vector["parameters"])
    assert (oracle.bits, kept_of(oracle)) == (vector["bits"], vector["kept"])
    client = SpecifiedClient
    if vector["kind"] == "direct":
        expected = [vector["said"]] if vector["said"] < oracle.size else []
    elif vector["kind"] == "unary":
        expected = [value for value, bit in enumerate(vector["said"]) if bit == "1"]
    else:
        hashes = [client.hashed(vector["rows"], value) for value in range(oracle.size)]
        assert sorted({hashes[value] for value in vector["values"]}) == vector["hashes"]
        expected = [value for value, each in enumerate(hashes) if each == vector["said"]]
    assert supported(oracle, bytes.fromhex(vector["row"])) == expected


def test_item_batches_match_the_golden_vectors() -> None:
    for vector in vectors("item_batches"):
        collection = collection_of(vector["collection"])
        batch = wire.Batch(
            fingerprint=bytes.fromhex(vector["fingerprint"]),
            batch_id=bytes.fromhex(vector["batch_id"]),
            time_ms=vector["time_ms"],
            rows=np.frombuffer(bytes.fromhex("".join(vector["rows"])), np.uint8).reshape(len(vector["rows"]), -1),
        )
        assert wire.encode(batch).hex() == vector["encoded"]
        layouts = [PhaseLayout(collection), *(PhaseLayout(collection, each) for each in rounds_of(collection))]
        formats = {layout.fingerprint: layout for layout in layouts}
        decoded = wire.decode([bytes.fromhex(vector["encoded"])], formats=formats)
        assert decoded.rejected == []


def rounds_of(collection: ItemCollection) -> list[Round]:
    every = [Round.from_bytes(vector["round"].encode()) for vector in vectors("rounds")]
    return [each for each in every if each.collection == collection.name]


# The specification.


def test_the_examples_of_the_specification_are_golden_vectors() -> None:
    written = re.sub(r"\s", "", SPECIFICATION)
    fingerprint, word = (vectors(name)[0] for name in ("item_fingerprints", "group_words"))
    asked = vectors("rounds")[2]
    assert fingerprint["fingerprint"] in SPECIFICATION
    assert asked["round"] in written
    assert asked["canonical"] in SPECIFICATION
    assert asked["fingerprint"] in SPECIFICATION
    assert str(word["word"]) in SPECIFICATION
    assert vectors("item_batches")[0]["encoded"] in written
    shown = {"hadamard": "659600", "set-hadamard": "6b0c", "direct": "05", "unary": "8801"}
    for kind, row in shown.items():
        assert row in [vector["row"] for vector in vectors("responses") if vector["kind"] == kind]
        assert " ".join(re.findall("..", row)) in SPECIFICATION.split(f"### {kind}\n")[1].split("##")[0]


# A client from the specification.


class SpecifiedClient:
    """A client of one user, written from sections 9 to 14 with the standard library: nothing of stream_ldp, no numpy.

    The generator is given, so that its tests can be repeated; a real one uses the operating system's.
    """

    def __init__(self, document: dict[str, Any], *, secret: bytes, generator: random.Random) -> None:
        mechanism = document["mechanism"]
        self.name, self.kind, self.epsilon = document["collection"], mechanism["kind"], float(mechanism["epsilon"])
        self.hash_bits = mechanism.get("hash_bits")
        self.first_padding = mechanism.get("set_size", 1)
        self.split = mechanism.get("split", (0.6, 0.4))
        self.items = document["items"].get("names", document["items"].get("size"))
        self.count = self.items if isinstance(self.items, int) else len(self.items)
        self.size_ms = document["size_ms"]
        self.epochs = document.get("epochs", "sequential")
        self.secret = secret
        self.generator = generator

    @property
    def phases(self) -> list[tuple[str, int, int, float]]:
        whole, epsilon = 2**32, self.epsilon
        match self.kind:
            case "gfim":
                if self.split[0] >= self.split[1]:
                    first = epsilon * self.split[0]
                    later = epsilon - first
                else:
                    later = epsilon * self.split[1]
                    first = epsilon - later
                return [("item", 0, whole, first), ("item", 0, whole // 2, later), ("item", whole // 2, whole, later)]
            case "gfim-users":
                a = round(self.split[0] * whole)
                b = (a + whole) // 2
                return [("item", 0, a, epsilon), ("item", a, b, epsilon), ("item", b, whole, epsilon)]
            case "ldpminer":
                return [("item", 0, whole, epsilon / 2)] * 2
            case _:
                a, b = 1717986918, 2147483648
                return [("item", 0, a, epsilon), ("count", a, b, epsilon), ("item", b, whole, epsilon)]

    def fingerprint(self) -> bytes:
        phases = [list(phase) for phase in self.phases]
        return self.digest(
            [self.name, self.kind, phases, self.first_padding, self.hash_bits, self.items, self.size_ms, self.epochs]
        )

    def round_fingerprint(self, epoch: int, phase: int, candidates: Sequence[int], padding: int) -> bytes:
        return self.digest([self.fingerprint().hex(), epoch, phase, list(candidates), padding])

    @staticmethod
    def digest(value: object) -> bytes:
        return hashlib.sha256(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()).digest()[:16]

    def window_ms(self, epoch: int, phase: int) -> int:
        first = epoch * len(self.phases) if self.epochs == "sequential" else epoch
        return int((first + phase - 1) * self.size_ms)

    def is_asked(self, epoch: int, phase: int) -> bool:
        data = self.fingerprint() + struct.pack("<q", epoch)
        word = hashlib.blake2b(data, key=self.secret, person=b"stream-ldp grp 1", digest_size=4).digest()
        _, beginning, end, _ = self.phases[phase - 1]
        return beginning <= int.from_bytes(word, "little") < end

    def answer(self, held: set[int], phase: int, candidates: Sequence[int] | None, padding: int) -> bytes:
        """Make the row of a report of a set of item numbers."""
        asked, _, _, epsilon = self.phases[phase - 1]
        if candidates is None:
            values, n = sorted(held), self.count
        else:
            values, n = [place for place, item in enumerate(candidates) if item in held], len(candidates)
        if asked == "count":
            response, t = self.response(n + 1, 1, epsilon, counts=True)
            if response == "direct":
                return self.direct(len(values), n + 1, math.exp(epsilon))
            return self.hadamard(len(values), n + 1, t, epsilon)
        unary = self.kind == "ldpminer" and phase == 2
        response, t = ("unary", 0) if unary else self.response(n, padding, epsilon, counts=False)
        if response == "set-hadamard":
            return self.set_hadamard(values, n, padding, t, epsilon)
        slot = self.generator.randrange(max(padding, len(values)))
        value = values[slot] if slot < len(values) else n + slot - len(values)
        match response:
            case "direct":
                return self.direct(value, n + padding, padding * (math.exp(epsilon) - 1) + 1)
            case "unary":
                return self.unary(value, n, epsilon)
            case _:
                return self.hadamard(value, n, t, epsilon)

    def response(self, n: int, padding: int, epsilon: float, *, counts: bool) -> tuple[str, int]:
        """Choose the response, and its t."""
        if self.hash_bits is not None:
            return "hadamard", self.hash_bits
        odds = math.exp(epsilon)

        def variance(p: float, q: float, frequency: float) -> float:
            supported = q + frequency * (p - q)
            return supported * (1 - supported) / (p - q) ** 2

        mean = 0.0 if counts else min(padding / n, 1.0)
        k, amplified = (n, odds) if counts else (n + padding, padding * (odds - 1) + 1)
        p = amplified / (amplified + k - 1)
        choices = [(padding**2 * variance(p, (1 - p) / (k - 1), mean / padding), "direct", 0)]
        choices += [
            (padding**2 * variance(odds / (odds + 2**t - 1), 2.0**-t, mean / padding), "hadamard", t)
            for t in range(1, 9)
        ]
        choices += [
            (variance(odds / (2**t - padding + padding * odds), 2.0**-t, mean), "set-hadamard", t)
            for t in range(1, 9)
            if not counts and padding > 1 and 2**t >= 2 * padding
        ]
        _, kind, t = min(choices, key=lambda choice: choice[0])
        return kind, t

    def happens(self, probability: float) -> bool:
        return self.generator.getrandbits(32) < math.floor(2**32 * probability)

    def other_than(self, values: Sequence[int], k: int) -> int:
        return self.generator.choice([value for value in range(k) if value not in values])

    def direct(self, value: int, k: int, odds: float) -> bytes:
        sent = value if self.happens(odds / (odds + k - 1)) else self.other_than([value], k)
        return self.packed([(sent, self.width(k))])

    @staticmethod
    def hashed(rows: Sequence[int], value: int) -> int:
        return sum(((row & value).bit_count() % 2) << place for place, row in enumerate(rows))

    def rows(self, n: int, t: int) -> list[int]:
        return [self.generator.getrandbits(self.width(n)) for _ in range(t)]

    def hadamard(self, value: int, n: int, t: int, epsilon: float) -> bytes:
        rows = self.rows(n, t)
        true = self.hashed(rows, value) if value < n else self.generator.getrandbits(t)
        kept = math.exp(epsilon) / (math.exp(epsilon) + 2**t - 1)
        sent = true if self.happens(kept) else self.other_than([true], 2**t)
        return self.packed([(row, self.width(n)) for row in rows] + [(sent, t)])

    def set_hadamard(self, values: Sequence[int], n: int, padding: int, t: int, epsilon: float) -> bytes:
        rows = self.rows(n, t)
        hashes = sorted({self.hashed(rows, value) for value in values})
        if len(hashes) > padding:
            hashes = self.generator.sample(hashes, padding)
        kept = math.exp(epsilon) / (2**t - padding + padding * math.exp(epsilon))
        favoured = self.happens(len(hashes) * kept)
        sent = self.generator.choice(hashes) if favoured else self.other_than(hashes, 2**t)
        return self.packed([(row, self.width(n)) for row in rows] + [(sent, t)])

    def unary(self, value: int, n: int, epsilon: float) -> bytes:
        odds = math.exp(epsilon / min(2, n))
        return self.packed([(int((place == value) == self.happens(odds / (odds + 1))), 1) for place in range(n)])

    @staticmethod
    def width(n: int) -> int:
        return max(1, (n - 1).bit_length())

    @staticmethod
    def packed(fields: Sequence[tuple[int, int]]) -> bytes:
        number = bits = 0
        for value, width in fields:
            number |= value << bits
            bits += width
        return number.to_bytes(-(-bits // 8), "little")

    def batch(self, rows: Sequence[bytes], fingerprint: bytes, batch_id: bytes, time_ms: int) -> bytes:
        checked = struct.pack("<BBHI16s16sq", 1, 0, len(rows[0]), len(rows), fingerprint, batch_id, time_ms)
        checked += b"".join(rows)
        return b"SLDP" + struct.pack("<I", zlib.crc32(checked)) + checked


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw collection files, as data; `size_ms` is the window's size."""
    kind = draw(st.sampled_from(["gfim", "gfim-users", "ldpminer", "svim"]))
    label = st.text(st.characters(exclude_categories=["Cs"], min_codepoint=0x20), min_size=1, max_size=8)
    count = draw(st.one_of(st.integers(2, 30), st.integers(31, 2_000)))
    items: dict[str, Any] = {"size": count}
    if count <= 30:
        items = {"names": draw(st.lists(label, min_size=count, max_size=count, unique=True))}
    mechanism: dict[str, Any] = {
        "kind": kind,
        "epsilon": draw(st.sampled_from([0.5, 1, 1.7, 3.0, 4])),
        "k": draw(st.integers(1, min(5, count))),
    }
    if draw(st.booleans()):
        mechanism["set_size"] = draw(st.integers(1, min(6, count)))
    if kind.startswith("gfim") and draw(st.booleans()):
        mechanism["split"] = draw(st.sampled_from([(0.5, 0.5), (0.7, 0.3), (0.25, 0.75)]))
    if draw(st.booleans()):
        mechanism["hash_bits"] = draw(st.integers(1, 4))
    return {
        "collection": draw(st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)),
        "mechanism": mechanism,
        "items": items,
        "epochs": draw(st.sampled_from(["sequential", "pipelined"])),
        "size_ms": draw(st.sampled_from([30_000, 60_000, 3_600_000])),
    }


def ours(document: dict[str, Any]) -> ItemCollection:
    size_ms = document["size_ms"]
    return ItemCollection.model_validate(
        {**{key: value for key, value in document.items() if key != "size_ms"}, "window": {"size": f"{size_ms}ms"}}
    )


def inquiries(collection: ItemCollection, generator: random.Random) -> list[Inquiry]:
    """Draw inquiries that the phases of an epoch may make."""
    method = collection.method
    asked = [method.first()]
    for phase in method.phases[1:]:
        count = generator.randint(1, min(12, collection.items.count))
        candidates = np.array(sorted(generator.sample(range(collection.items.count), count)))
        asked.append(Inquiry(phase=phase.number, candidates=candidates, padding=generator.randint(1, count)))
    return asked


def kind_of(oracle: FrequencyOracle) -> tuple[str, int]:
    kinds = {DirectResponse: "direct", UnaryResponse: "unary", SetHadamardResponse: "set-hadamard"}
    return kinds.get(type(oracle), "hadamard"), getattr(oracle, "hash_bits", 0)


def answers_by(client: SpecifiedClient, phase: Phase, inquiry: Inquiry) -> tuple[str, int]:
    if client.kind == "ldpminer" and phase.number == 2:
        return "unary", 0
    n = client.count if inquiry.candidates is None else len(inquiry.candidates)
    counts = phase.asked is Target.COUNT
    return client.response(n + counts, inquiry.padding, phase.epsilon, counts=counts)


@given(document=documents(), secret=st.binary(min_size=32, max_size=32), seed=st.integers(0, 2**32), data=st.data())
def test_a_client_written_from_the_specification_alone_reports_as_it_is_asked(
    document: dict[str, Any], secret: bytes, seed: int, data: st.DataObject
) -> None:
    collection, generator = ours(document), random.Random(seed)
    client = SpecifiedClient(document, secret=secret, generator=generator)
    epoch = data.draw(st.integers(-(2**20), 2**30))
    assert client.fingerprint().hex() == collection.fingerprint.hex()
    words = partition_words([secret], fingerprint=collection.fingerprint, epoch=epoch)
    held = data.draw(st.sets(st.integers(0, collection.items.count - 1), max_size=8))
    for phase, inquiry in zip(collection.method.phases, inquiries(collection, generator), strict=True):
        number, asked = phase.number, Round.of(collection, inquiry, epoch=epoch)
        assert client.phases[number - 1] == (phase.asked.value, *phase.share, phase.epsilon)
        assert client.window_ms(epoch, number) == asked.start_ms
        assert client.is_asked(epoch, number) == bool(phase.asks(words)[0])
        candidates = None if inquiry.candidates is None else inquiry.candidates.tolist()
        fingerprint = client.fingerprint()
        if candidates is not None:
            fingerprint = client.round_fingerprint(epoch, number, candidates, inquiry.padding)
        layout = PhaseLayout(collection, None if number == 1 else asked)
        assert answers_by(client, phase, inquiry) == kind_of(layout.oracle)
        row = client.answer(held, number, candidates, inquiry.padding)
        batch = client.batch([row], fingerprint, bytes(16), asked.start_ms)
        assert wire.decode([batch], formats={layout.fingerprint: layout}).rejected == []


@pytest.mark.parametrize(
    ("mechanism", "items"),
    [
        ({"kind": "gfim", "epsilon": 3, "set_size": 3}, 12),
        ({"kind": "gfim", "epsilon": 3, "set_size": 3}, 200),
        ({"kind": "gfim", "epsilon": 3, "set_size": 3, "hash_bits": 1}, 12),
        ({"kind": "gfim-users", "epsilon": 3, "set_size": 3}, 40),
        ({"kind": "ldpminer", "epsilon": 4, "set_size": 3}, 40),
        ({"kind": "svim", "epsilon": 3, "set_size": 3}, 200),
        ({"kind": "svim", "epsilon": 3}, 40),
        ({"kind": "svim", "epsilon": 3, "hash_bits": 2}, 12),
    ],
    ids=str,
)
def test_a_worker_finds_the_heavy_hitters_of_clients_written_from_the_specification(
    mechanism: dict[str, Any], items: int
) -> None:
    users, generator = 3_000, random.Random(20261122)
    document = {
        "collection": "films",
        "mechanism": mechanism | {"k": 4, "k_max": 8},
        "items": {"size": items},
        "size_ms": 60_000,
    }
    collection = ours(document)
    method = collection.method
    # Item 9 is held by 90 % of the users, 8 by 70, 7 by 50, 6 by none; sets of up to three.
    parts = {9: 0.9, 8: 0.7, 7: 0.5}
    clients = [
        (
            SpecifiedClient(document, secret=generator.randbytes(32), generator=generator),
            {item for item, part in parts.items() if generator.random() < part},
        )
        for _ in range(users)
    ]
    inquiry: Inquiry | None = method.first()
    estimate: RankingEstimate | None = None
    while inquiry is not None:
        phase = inquiry.phase
        candidates = None if inquiry.candidates is None else inquiry.candidates.tolist()
        rows = [
            client.answer(held, phase, candidates, inquiry.padding)
            for client, held in clients
            if client.is_asked(7, phase)
        ]
        packed = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        oracle = method.oracle(inquiry)
        assert oracle.valid(packed).all()
        estimate, inquiry = method.solve(inquiry, sums=oracle.sums(packed), reports=len(rows), before=estimate)
    assert estimate is not None
    best = dict(
        zip(estimate.items.tolist(), zip(estimate.frequency, estimate.standard_error, strict=True), strict=True)
    )
    assert set(parts) <= set(estimate.items[:4].tolist())
    for item, part in parts.items():
        frequency, error = best[item]
        # A normal variable is within 5 standard deviations but for one seed in a million; svim's correction for sets
        # that do not fit has an error of its own.
        assert abs(frequency - part) < 5 * error + (0.06 if mechanism["kind"] == "svim" else 0.02), (item, best)
