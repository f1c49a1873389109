"""A client written from docs/wire.md alone reproduces every golden vector of every kind and option."""

import ast
import json
import math
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.audit import wire
from stream_ldp.audit.wire.batch import HEADER_BYTES, encoded, rounded_time
from stream_ldp.audit.wire.client import Turns
from stream_ldp.audit.wire.notation import fingerprint_of, packed, signs_of, width
from stream_ldp.audit.wire.pairs import Pairs
from stream_ldp.audit.wire.places import Places
from stream_ldp.audit.wire.questions import Sampled
from stream_ldp.audit.wire.randomizers import kept_of, kept_place, loss_of
from stream_ldp.audit.wire.records import Records, fresh_chance
from stream_ldp.audit.wire.sets import Sets, response_kept
from stream_ldp.audit.wire.strings import Strings
from tests.paths import GOLDEN, REPOSITORY, vectors

PAGE = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")

#: Where the client is.
ROOM = Path(wire.__file__).parent

#: Files of tests/golden that are none of a client's, as section 22 says.
OF_THE_SERVICE = {"estimates", "oracles"}

Asking = Sampled | Strings | Places | Pairs


def rows_of(written: list[str]) -> list[bytes]:
    return [bytes.fromhex(row) for row in written]


def row_of(asking: Asking, secret: bytes, record: dict[str, Any]) -> bytes:
    """The row that a user repeats."""
    if isinstance(asking, Sampled):
        return asking.row(secret, record)
    return asking.whole_row(secret, record, time_ms=0, words=iter(()))


def same_batch(vector: dict[str, Any], fingerprint: bytes) -> bool:
    made = encoded(
        rows_of(vector["rows"]),
        fingerprint=fingerprint,
        batch_id=bytes.fromhex(vector["batch_id"]),
        time_ms=vector["time_ms"],
    )
    return made.hex() == str(vector["bytes" if "bytes" in vector else "encoded"])


def records_of(name: str, **changes: Any) -> Records:
    return Records({**vectors("collections")[name], **changes})


def sets_of(name: str, **changes: Any) -> Sets:
    return Sets({**vectors("collections")[name], **changes})


# That it is independent, and complete.


def reason_of(record: bytes, *, fingerprint: bytes, bits: int) -> str | None:
    """The reason of section 8 that depends on the bytes alone, for rr-ldp; None if there is none."""
    row = -(-bits // 8)
    if len(record) < HEADER_BYTES:
        return "too_short"
    magic, checksum, version, reserved, wide, count, carried = struct.unpack("<4sIBBHI16s", record[:32])
    rows = record[HEADER_BYTES:]
    reasons = {
        "bad_magic": magic != b"SLDP",
        "unknown_version": (version, reserved) != (1, 0),
        "wrong_length": len(rows) != wide * count,
        "bad_checksum": checksum != zlib.crc32(record[8:]),
        "unknown_fingerprint": carried != fingerprint,
        "zero_reports": count == 0,
        "wrong_width": wide != row,
        "padding_bits": any(rows[place] >> (bits - 8 * (row - 1)) for place in range(row - 1, len(rows), row)),
    }
    return next((reason for reason, found in reasons.items() if found), None)


def test_the_client_shares_no_function_with_the_package() -> None:
    """It imports the standard library and itself; with these comes only what the package has for its own names."""
    modules = set()
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                modules.add(str(node.module))
    foreign = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert all(name.startswith("stream_ldp.audit.wire.") for name in foreign)
    program = "import sys\n" + "".join(f"import {name}\n" for name in sorted(foreign)) + "print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in ast.literal_eval(done.stdout) if name.partition(".")[0] in {"stream_ldp", "numpy"}}
    assert loaded - foreign == {"stream_ldp", "stream_ldp.audit", "stream_ldp.audit.wire", "stream_ldp.deferred"}


def test_every_golden_file_is_reproduced_and_described() -> None:
    files = {path.stem for path in GOLDEN.glob("*.json")}
    assert files == REPRODUCED.keys() | OF_THE_SERVICE
    described = PAGE.split("## 22. The golden vectors")[1]
    assert {name for name in files if f"`{name}.json`" in described} == files


# Records.


def fingerprints() -> None:
    for vector in vectors("fingerprint"):
        collection = records_of(vector["collection"])
        assert collection.thresholds == vector["thresholds"]
        assert collection.meaning == vector["canonical"]
        assert collection.fingerprint.hex() == vector["fingerprint"]


def permanent_responses() -> None:
    for vector in vectors("permanent_response"):
        collection = records_of(vector["collection"])
        values = collection.values_of(vector["record"])
        words = collection.permanent_words(bytes.fromhex(vector["secret"]), values)
        assert (values, words) == (vector["values"], vector["words"])
        assert "".join(map(str, collection.permanent(values, words))) == vector["bits"]


def instantaneous_responses() -> None:
    for vector in vectors("instantaneous_response"):
        collection = records_of(vector["collection"])
        sent = collection.instantaneous([int(bit) for bit in vector["permanent"]], vector["words"])
        assert ("".join(map(str, sent)), collection.row(sent).hex()) == (vector["report"], vector["row"])


def batches() -> None:
    for vector in vectors("batches"):
        assert same_batch(vector, records_of(vector["collection"]).fingerprint)


def malformed_batches() -> None:
    for vector in vectors("malformed"):
        record = bytes.fromhex(vector["record"])
        assert reason_of(record, fingerprint=records_of("care-survey").fingerprint, bits=5) == vector["reason"]
    for vector in vectors("batches"):
        record = bytes.fromhex(vector["encoded"])
        collection = records_of(vector["collection"])
        assert reason_of(record, fingerprint=collection.fingerprint, bits=sum(collection.sizes)) is None


def k_rr() -> None:
    golden = vectors("k_rr")
    collection = Records(golden["file"])
    assert (collection.runs, collection.kept) == (golden["runs"], golden["kept"])
    assert (collection.meaning, collection.fingerprint.hex()) == (golden["canonical"], golden["fingerprint"])
    for vector in golden["reports"]:
        values = collection.values_of(vector["record"])
        words = collection.permanent_words(bytes.fromhex(golden["secret"]), values)
        sent = collection.permanent(values, words)
        assert (values, words, sent) == (vector["values"], vector["words"], vector["sent"])
        assert collection.row(sent).hex() == vector["row"]


def k_rr_with_fresh_noise() -> None:
    golden = vectors("k_rr_fresh")
    collection = Records(golden["file"])
    assert (collection.kept, collection.fresh) == (golden["kept"], golden["fresh"])
    assert collection.fingerprint.hex() == golden["fingerprint"]
    for vector in golden["reports"]:
        values = collection.values_of(vector["record"])
        words = collection.permanent_words(bytes.fromhex(golden["secret"]), values)
        named = collection.permanent(values, words)
        assert (words, named) == (vector["words"], vector["named"])
        assert collection.row(collection.instantaneous(named, vector["fresh_words"])).hex() == vector["row"]
    losses = golden["losses"]
    for attribute, *parameters in zip(
        collection.attributes, collection.sizes, golden["kept"], golden["fresh"], strict=True
    ):
        found = [loss_of("repeated", parameters, reports=reports) for reports in losses["reports"]]
        assert found == pytest.approx(losses[attribute.name], abs=1e-12)


def linked_reports() -> None:
    golden = vectors("linked")
    collection = records_of(golden["collection"], linked=f"{golden['linked']}ms")
    assert (collection.meaning, collection.fingerprint.hex()) == (golden["canonical"], golden["fingerprint"])
    secret, sent = bytes.fromhex(golden["secret"]), golden["batch"]
    for vector in golden["pseudonyms"]:
        assert collection.pseudonym(secret, vector["period"]).hex() == vector["pseudonym"]
    row = collection.pseudonym(secret, sent["time_ms"] // golden["linked"])
    row += collection.row([int(bit) for bit in sent["report"]])
    assert same_batch({**sent, "rows": [row.hex()]}, collection.fingerprint)


def samples() -> None:
    for vector in vectors("samples"):
        secret = bytes.fromhex(vector["secret"])
        if vector["collection"] == "films":
            sets = sets_of("films", sample=vector["sample"])
            assert (sets.meaning, sets.fingerprint.hex()) == (vector["canonical"], vector["fingerprint"])
            for asked in vector["asked"]:
                assert sets.word(secret, asked["number"]) == asked["word"]
                assert sets.is_asked(secret, asked["number"], 1) == asked["asks"]
            continue
        records = records_of(vector["collection"], sample=vector["sample"])
        assert records.sample == vector["words"]
        assert (records.meaning, records.fingerprint.hex()) == (vector["canonical"], vector["fingerprint"])
        for asked in vector["asked"]:
            found = records.asked(secret, asked["number"] * 60_000 + 59_999)
            assert found == (asked["number"], asked["word"], asked["asks"])


def turns() -> None:
    for vector in vectors("turns"):
        file = vector.get("file") or {**vectors("collections")[vector["collection"]]}
        file = {**file, "rotate": vector["rotate"], **{key: vector[key] for key in ("epochs",) if key in vector}}
        client: Any = {"films": Sets, "care-survey": Records}.get(file["collection"], partial(_asking, vector))(file)
        assert getattr(client, "meaning", vector["meaning"]) in (vector["meaning"], json.loads(vector["meaning"]))
        assert client.fingerprint.hex() == vector["fingerprint"]
        assert client.turns == Turns(vector["rotate"], vector["turn_ms"])
        secret = bytes.fromhex(vector["secret"])
        assert client.turns.place(secret, client.fingerprint) == vector["place"]
        for asked in vector["asked"]:
            number = asked["number"]
            if isinstance(client, Sets):
                # Phases that ask everybody: the turn alone decides.
                assert client.is_asked(secret, number, 1) == asked["asks"]
            else:
                times = number * vector["turn_ms"], (number + 1) * vector["turn_ms"] - 1
                assert [client.asks(secret, time_ms) for time_ms in times] == [asked["asks"]] * 2


def _asking(vector: dict[str, Any], file: dict[str, Any]) -> Asking:
    kinds: dict[str, Any] = {"strings": Strings, "places": Places, "pairs": Pairs}
    return kinds.get(json.loads(vector["meaning"])[1], Sampled)(file, vector["meaning"])  # type: ignore[no-any-return]


def reports_of_records() -> None:
    for vector in vectors("record_reports"):
        collection = Records(vector["file"])
        assert (collection.meaning, collection.fingerprint.hex()) == (vector["meaning"], vector["fingerprint"])
        secret, values = bytes.fromhex(vector["secret"]), collection.values_of(vector["record"])
        assert collection.permanent_words(secret, values) == vector["words"]
        row = collection.report(
            secret, vector["record"], time_ms=vector["time_ms"], fresh_words=vector["fresh_words"]
        )
        assert (row is not None) == vector["asked"]
        assert (row and row.hex()) == vector["row"]
        if row is not None:
            sent = vector["batch"]
            assert sent["time_ms"] == rounded_time(vector["file"]["window"], vector["time_ms"])
            assert sent["rows"] == [vector["row"]]
            assert same_batch(sent, collection.fingerprint)


def synthetic_records() -> None:
    for number, vector in enumerate(vectors("records")):
        content = json.loads(vector["value"])
        start_ms = content["window"]["start_ms"]
        key = f"{content['method']}-{content['total']}-{content['seed']}-{number}|final|{start_ms}"
        assert (content["chunk"], key) == (number, vector["key"])
        for place, attribute in enumerate(content["attributes"]):
            column = [attribute["values"][record[place]] for record in content["records"]]
            assert column == vector["columns"][attribute["attribute"]]


# Item sets.


def item_fingerprints() -> None:
    for vector in vectors("item_fingerprints"):
        collection = sets_of(vector["collection"])
        assert (collection.meaning, collection.fingerprint.hex()) == (vector["canonical"], vector["fingerprint"])


def rounds() -> None:
    for vector in vectors("rounds"):
        asked = json.loads(vector["round"])
        collection = sets_of(asked["collection"])
        meaning = collection.round_meaning(asked)
        assert (meaning, fingerprint_of(meaning).hex()) == (vector["canonical"], vector["fingerprint"])
        assert collection.trusts(asked) == (asked["candidates"] == sorted(asked["candidates"]))
        assert not collection.trusts({**asked, "epsilon": asked["epsilon"] * 1.01})


def partition_words() -> None:
    for vector in vectors("group_words"):
        found = [sets_of(name) for name in ("films", "apps")]
        (collection,) = [each for each in found if each.fingerprint.hex() == vector["fingerprint"]]
        assert collection.word(bytes.fromhex(vector["secret"]), vector["epoch"]) == vector["word"]


def responses() -> None:
    for vector in vectors("responses"):
        given, kind = vector["parameters"], vector["kind"]
        n, t, dummies = given["size"], given.get("hash_bits", 0), given.get("dummies", 0)
        slots = given.get("slots", 1)
        kept = response_kept(kind, n=n, epsilon=given["epsilon"], t=t, slots=slots, dummies=dummies)
        assert kept == vector["kept"]
        if kind == "direct":
            fields = [(vector["said"], width(n + dummies))]
        elif kind == "unary":
            fields = [(int(bit), 1) for bit in vector["said"]]
        else:
            assert sorted({signs_of(vector["rows"], value) for value in vector["values"]}) == vector["hashes"]
            fields = [*((row, width(n)) for row in vector["rows"]), (vector["said"], t)]
        assert sum(bits for _, bits in fields) == vector["bits"]
        assert packed(fields).hex() == vector["row"]


def item_batches() -> None:
    for vector in vectors("item_batches"):
        assert same_batch(vector, bytes.fromhex(vector["fingerprint"]))


def memoised_sets() -> None:
    golden = vectors("loloha")
    collection = sets_of(golden["collection"])
    assert (collection.meaning, collection.fingerprint.hex()) == (golden["canonical"], golden["fingerprint"])
    assert (list(collection.signs), collection.set_size) == (golden["chances"], golden["slots"])
    for vector in golden["responses"]:
        secret, items = bytes.fromhex(vector["secret"]), vector["items"]
        assert collection.row_index(secret) == vector["row"]
        assert collection.sign(secret, items) == vector["sign"]
        assert collection.memoised_row(secret, items, 0).hex() == vector["permanent"]
        for sent in vector["reports"]:
            assert collection.memoised_row(secret, items, sent["words"][0]).hex() == sent["row"]


def reports_of_sets() -> None:
    for vector in vectors("item_reports"):
        collection, phase, asked = Sets(vector["file"]), vector["phase"], vector["round"]
        assert (collection.meaning, collection.fingerprint.hex()) == (vector["meaning"], vector["fingerprint"])
        secret, epoch = bytes.fromhex(vector["secret"]), vector["epoch"]
        assert collection.word(secret, epoch) == vector["word"]
        assert collection.is_asked(secret, epoch, phase) == vector["asked"]
        assert asked is None or collection.trusts(asked)
        if not vector["asked"]:
            continue
        n, _ = collection.values_of(phase, asked)
        kind, t, dummies, kept = collection.response(phase, asked)
        assert {"kind": kind, "values": n, "dummies": dummies, "t": t, "kept": kept} == vector["response"]
        if kind == "loloha":
            items = collection.numbers_of(vector["items"])
            row = collection.memoised_row(secret, items, vector["fresh_words"][0])
            assert (row.hex(), [row.hex()]) == (vector["row"], vector["batch"]["rows"])
            assert same_batch(vector["batch"], collection.fingerprint)
            continue
        held = collection.restricted(collection.numbers_of(vector["items"]), asked)
        assert held == vector["restricted"]
        draws, value = vector["draws"], None
        if "slot" in draws:
            value = collection.slot_value(held, draws["slot"], n)
        elif kind != "set-hadamard":
            value = collection.number_of(phase, held, n)
        assert value == vector["value"]
        if kind in ("hadamard", "set-hadamard"):
            hashed = held if value is None else [value] if value < n else []
            assert sorted({signs_of(draws["rows"], each) for each in hashed}) == vector["hashes"]
        row = collection.row(phase, asked, draws)
        carried = collection.fingerprint
        if asked is not None:
            carried = fingerprint_of(collection.round_meaning(asked))
        assert (row.hex(), carried.hex()) == (vector["row"], vector["carried"])
        start_ms, end_ms = collection.bounds_ms(epoch, phase)
        assert start_ms <= vector["batch"]["time_ms"] < end_ms
        assert vector["batch"]["time_ms"] == rounded_time(vector["file"]["window"], vector["time_ms"])
        assert vector["batch"]["rows"] == [vector["row"]]
        assert same_batch(vector["batch"], carried)


# Answers to questions.


def answers(name: str, client: Callable[[dict[str, Any], str], Asking]) -> None:
    for vector in vectors(name):
        asking = client(vector["file"], vector["meaning"])
        assert asking.fingerprint.hex() == vector["fingerprint"]
        secrets = rows_of(vector["secrets"])
        rows = [[row_of(asking, secret, record).hex() for secret in secrets] for record in vector["records"]]
        assert rows == vector["rows"]
        for fresh in vector.get("fresh", ()):
            assert isinstance(asking, Sampled)
            record, secret = vector["records"][fresh["record"]], secrets[fresh["secret"]]
            assert asking.row(secret, record, fresh["words"]).hex() == fresh["row"]
        assert same_batch(vector["batch"], asking.fingerprint)


#: What reproduces each file.
REPRODUCED: dict[str, Callable[[], None]] = {
    "batches": batches,
    # The collection files that other vectors name.
    "collections": lambda: None,
    "fingerprint": fingerprints,
    "group_words": partition_words,
    "instantaneous_response": instantaneous_responses,
    "item_batches": item_batches,
    "item_fingerprints": item_fingerprints,
    "item_reports": reports_of_sets,
    "k_rr": k_rr,
    "k_rr_fresh": k_rr_with_fresh_noise,
    "linked": linked_reports,
    "loloha": memoised_sets,
    "malformed": malformed_batches,
    "permanent_response": permanent_responses,
    "pairs": lambda: answers("pairs", Pairs),
    "places": lambda: answers("places", Places),
    "record_reports": reports_of_records,
    "records": synthetic_records,
    "responses": responses,
    "rounds": rounds,
    "sampled": lambda: answers("sampled", Sampled),
    "samples": samples,
    "strings": lambda: answers("strings", Strings),
    "turns": turns,
    "views": lambda: answers("views", Sampled),
}


@pytest.mark.parametrize("name", sorted(REPRODUCED))
def test_a_client_written_from_the_page_reproduces_the_golden_vectors(name: str) -> None:
    REPRODUCED[name]()


def randomizers(vector: dict[str, Any]) -> list[tuple[str, list[int]]]:
    meaning = json.loads(vector["meaning"])
    match meaning[1]:
        case "sampled":
            return [(kind, parameters) for _, kind, parameters, *_ in meaning[3]]
        case "strings":
            return [(kind, parameters) for kind, parameters in meaning[4]]
        case "pairs":
            return [(meaning[4], meaning[5])]
        case _:
            return [(kind, parameters) for _, _, kind, parameters in meaning[3]]


def _a_drawn_answer_costs_what_the_file_says(vector: dict[str, Any]) -> None:
    """Section 21: what is drawn of the slots hides behind what might have been."""
    pairs, epsilon = Pairs(vector["file"], vector["meaning"]), vector["file"]["mechanism"]["epsilon"]
    assert epsilon - 1e-6 < pairs.loss() <= epsilon
    spent = math.log1p(pairs.padding * math.expm1(epsilon))
    assert abs(pairs.parameters[-1] - kept_of("direct", pairs.parameters, spent)) <= 1


@pytest.mark.parametrize("name", ["sampled", "views", "strings", "places", "pairs"])
def test_no_answer_costs_more_than_the_file_says_and_its_chance_is_that_of_the_page(name: str) -> None:
    """Section 15: a client computes the cost from the parameters, and believes no meaning that costs more."""
    for vector in vectors(name):
        mechanism = vector["file"]["mechanism"]
        told = mechanism.get("epsilon")
        for number, (kind, parameters) in enumerate(made := randomizers(vector)):
            if name == "pairs" and kind == "direct":
                _a_drawn_answer_costs_what_the_file_says(vector)
                continue
            loss = loss_of(kind, parameters)
            if told is None:
                assert 0 < loss < math.inf
                continue
            epsilon = told[number % len(told)] if isinstance(told, list) else told
            if name == "strings":
                epsilon /= len(made)
            assert epsilon - 1e-6 < loss <= epsilon
            if kind != "channel":
                assert parameters[kept_place(kind)] == kept_of(kind, parameters, epsilon)
            if kind == "repeated":
                fresh = fresh_chance(parameters[1], parameters[0], mechanism["per_report"])
                assert parameters[2] == fresh
                assert loss_of(kind, parameters, reports=1) <= mechanism["per_report"]
