"""The package does what the complete golden vectors say, from a collection file to the batch that a worker counts."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.wire.pairs import Pairs
from stream_ldp.audit.wire.places import Places
from stream_ldp.audit.wire.questions import Sampled
from stream_ldp.audit.wire.strings import Strings
from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of, load_collection, parse_collection
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, GivenWords, HadamardResponse, UnaryResponse
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse
from stream_ldp.pairs.collection import PairsCollection
from stream_ldp.pipeline import wire
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.questions.collection import AskingCollection
from stream_ldp.questions.reports import permanent_answers
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.rounds import Round
from stream_ldp.strings import reports as string_answers
from stream_ldp.strings.collection import StringCollection
from tests.audit.wire.test_golden import row_of
from tests.paths import GOLDEN, REPOSITORY, vectors

PAGE = (REPOSITORY / "docs" / "wire.md").read_text(encoding="utf-8")
ASKING = ["sampled", "views", "strings", "places", "pairs"]
SECRET = bytes(range(32))


def collection_of(file: dict[str, Any]) -> Collection:
    # As itself, since a pair of escapes is no character of YAML.
    return parse_collection(json.dumps(file, ensure_ascii=False))


def require_same_meaning(collection: Collection, vector: dict[str, Any]) -> None:
    assert (collection.meaning, collection.fingerprint.hex()) == (vector["meaning"], vector["fingerprint"])


def require_counted(batch: dict[str, Any], collection: Collection, *others: PhaseLayout) -> None:
    own = kind_of(collection).layout(collection)
    decoded = wire.decode(
        [bytes.fromhex(batch["bytes"])], formats={each.fingerprint: each for each in (own, *others)}
    )
    assert decoded.rejected == []
    assert (int(decoded.time_ms[0]), int(decoded.counts[0])) == (batch["time_ms"], len(batch["rows"]))
    assert collection.window.rounded(batch["time_ms"]) == batch["time_ms"]


def permanent_rows(collection: Collection, records: list[dict[str, Any]], secrets: list[bytes]) -> list[list[str]]:
    """The row that each record is repeated with, for each secret."""
    made = [_permanent_rows(collection, record, secrets) for record in records]
    return [[row.tobytes().hex() for row in rows] for rows in made]


def _permanent_rows(collection: Collection, record: dict[str, Any], secrets: list[bytes]) -> NDArray[np.uint8]:
    match collection:
        case StringCollection():
            symbols = collection.table([collection.encode(record)] * len(secrets))
            return string_answers.permanent_answers(collection, symbols, secrets=secrets)
        case PlaceCollection():
            people = collection.table([collection.encode(record)] * len(secrets))
            return permanent_answers(collection, people, secrets=secrets, numbers=collection.chosen(people))
        case AskingCollection() | PairsCollection():
            return permanent_answers(
                collection, collection.table([collection.encode(record)] * len(secrets)), secrets=secrets
            )
    raise AssertionError(collection)


def client_of(vector: dict[str, Any]) -> Sampled | Strings | Places | Pairs:
    match json.loads(vector["meaning"])[1]:
        case "sampled":
            return Sampled(vector["file"], vector["meaning"])
        case "strings":
            return Strings(vector["file"], vector["meaning"])
        case "pairs":
            return Pairs(vector["file"], vector["meaning"])
        case _:
            return Places(vector["file"], vector["meaning"])


@pytest.mark.parametrize("name", sorted(vectors("collections")))
def test_the_collection_files_of_the_vectors_are_those_of_the_service(name: str) -> None:
    collection = collection_of(vectors("collections")[name])
    assert collection == load_collection(GOLDEN / f"{name}.yaml")
    assert collection.name == name


@pytest.mark.parametrize("name", ASKING)
def test_the_package_answers_questions_as_the_vectors_say(name: str) -> None:
    for vector in vectors(name):
        collection = collection_of(vector["file"])
        require_same_meaning(collection, vector)
        secrets = [bytes.fromhex(secret) for secret in vector["secrets"]]
        assert permanent_rows(collection, vector["records"], secrets) == vector["rows"]
        require_counted(vector["batch"], collection)


@pytest.mark.parametrize("name", ASKING)
def test_the_package_and_a_client_written_from_the_page_answer_alike(name: str) -> None:
    """With secrets that no vector has."""
    secrets = [hashlib.sha256(bytes([number])).digest() for number in range(8, 40)]
    for vector in vectors(name):
        client = client_of(vector)
        rows = [[row_of(client, secret, record).hex() for secret in secrets] for record in vector["records"]]
        assert permanent_rows(collection_of(vector["file"]), vector["records"], secrets) == rows


def test_the_package_gives_turns_as_the_vectors_say() -> None:
    for vector in vectors("turns"):
        file = vector.get("file") or vectors("collections")[vector["collection"]]
        file = {**file, "rotate": vector["rotate"], **{key: vector[key] for key in ("epochs",) if key in vector}}
        collection = collection_of(file)
        require_same_meaning(collection, vector)
        assert collection.turn_ms == vector["turn_ms"]
        secret = bytes.fromhex(vector["secret"])
        for asked in vector["asked"]:
            assert collection.has_turn([secret], number=asked["number"]).tolist() == [asked["asks"]]


def test_the_package_perturbs_what_is_repeated_as_the_vectors_say() -> None:
    fresh = [(vector, each) for vector in vectors("sampled") for each in vector.get("fresh", ())]
    assert fresh
    for vector, each in fresh:
        collection = collection_of(vector["file"])
        assert isinstance(collection, AskingCollection)
        row = np.frombuffer(bytes.fromhex(vector["rows"][each["record"]][each["secret"]]), dtype=np.uint8)
        words = GivenWords(np.array(each["words"], dtype=np.uint32))
        (sent,) = collection.questions.instantaneous(row[None], entropy=words)
        assert sent.tobytes().hex() == each["row"]


def test_the_package_reports_records_as_the_vectors_say() -> None:
    for vector in vectors("record_reports"):
        collection = collection_of(vector["file"])
        assert isinstance(collection, JointCollection)
        require_same_meaning(collection, vector)
        secret, values = bytes.fromhex(vector["secret"]), collection.encode(vector["record"])
        words = collection.permanent_words().words(secret, values)
        assert words.tolist() == vector["words"]
        (asked,) = collection.asks([secret], time_ms=vector["time_ms"])
        assert asked == vector["asked"]
        if not asked:
            continue
        fresh = GivenWords(np.array(vector["fresh_words"], dtype=np.uint32))
        rows = collection.mechanism.perturb(np.array([values]), entropy=fresh, permanent_words=words[None, :])
        pseudonym = collection.pseudonyms(1, secrets=[secret], time_ms=vector["time_ms"], entropy=fresh)
        assert (pseudonym.tobytes() + rows.tobytes()).hex() == vector["row"]
        assert vector["batch"]["time_ms"] == collection.window.rounded(vector["time_ms"])
        require_counted(vector["batch"], collection)


def kept_of(oracle: FrequencyOracle) -> int:
    """The chance that keeps what is sent, or what is remembered, in units of 2^-32."""
    match oracle:
        case DirectResponse() | SetHadamardResponse():
            return oracle.kept
        case HadamardResponse() | UnaryResponse():
            return oracle.response.chances[0]
    raise AssertionError(oracle)


def test_the_package_asks_and_counts_item_sets_as_the_vectors_say() -> None:
    for vector in vectors("item_reports"):
        collection = collection_of(vector["file"])
        assert isinstance(collection, ItemCollection)
        require_same_meaning(collection, vector)
        phase = collection.method.phases[vector["phase"] - 1]
        assert phase.asks(np.array([vector["word"]], dtype=np.uint32))[0] == vector["asked"]
        if not vector["asked"]:
            continue
        asked = None
        if vector["round"] is not None:
            asked = Round.from_bytes(json.dumps(vector["round"]).encode())
            asked.check(collection)
        layout = PhaseLayout(collection, asked)
        assert layout.fingerprint.hex() == vector["carried"]
        time_ms = vector["batch"]["time_ms"]
        assert layout.takes(np.array([time_ms - time_ms % collection.window.size_ms]))[0]
        assert (layout.oracle.kind, kept_of(layout.oracle)) == (
            vector["response"]["kind"],
            vector["response"]["kept"],
        )
        require_counted(vector["batch"], collection, layout)


def test_the_examples_of_the_page_are_those_of_its_client() -> None:
    """Sections 17 to 19 and 21."""
    places, strings = vectors("places")[0], vectors("strings")[0]
    client, words = client_of(places), client_of(strings)
    shown = [row_of(client, SECRET, record).hex() for record in places["records"][:2]]
    shown += [row_of(words, SECRET, {"word": "banana"}).hex(), *(each["fingerprint"] for each in (places, strings))]
    diets = {
        "collection": "diets",
        "mechanism": {"kind": "sampled", "epsilon": 2},
        "attributes": [
            {"name": "diet", "values": ["meat", "fish", "plants"]},
            {"name": "age", "range": [0, 100]},
            {"name": "smokes", "values": ["no", "yes"]},
        ],
        "window": {"size": "10s"},
    }
    pairs = vectors("pairs")[0]
    shown += [row_of(client_of(pairs), SECRET, {"search": "12.5"}).hex(), pairs["fingerprint"]]
    meaning = collection_of(diets).meaning
    asking = Sampled(diets, meaning)
    row = asking.row(SECRET, {"diet": "fish", "age": 41, "smokes": "no"}).hex()
    assert f"question is {asking.word(SECRET)}: the user is asked question {asking.question(SECRET)}." in PAGE
    for text in (*shown, asking.fingerprint.hex(), row):
        assert f"`{text}`" in PAGE
    for text in (meaning, places["meaning"], strings["meaning"], pairs["meaning"]):
        assert f"\n    {text}\n" in PAGE
