"""What reports to phases cost: the phase's epsilon once an epoch, or the permanent response that they show."""

import hashlib
import json

import numpy as np
import pytest

from stream_ldp.audit.wire.sets import Sets
from stream_ldp.ledger.ledger import AlreadyReported, Book, book_of, json_of
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.mechanisms import SECRET_BYTES, GivenWords, LolohaResponse
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import epochs_epsilon
from stream_ldp.sets.reports import charges, held_sign, permanent_words, sign_words
from stream_ldp.sets.rounds import Round
from stream_ldp.sets.sampling import respond
from tests.client.items import EPOCH, films
from tests.paths import GOLDEN

SECRET = bytes(range(32))


def test_a_permanent_response_is_charged_in_an_account_of_its_own() -> None:
    collection, user = films(mechanism="{kind: loloha, epsilon: 1, k: 2, set_size: 2}"), ItemSets.of([[1]])
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=9.0))

    def report(epoch: int) -> None:
        reported = charges(
            collection, user, asked=Round.first(collection, epoch), secret=SECRET, tag_key=ledger.tag_key
        )
        ledger.spend(reported, time_ms=0)

    for epoch in (EPOCH, EPOCH + 1):
        report(epoch)
    assert ledger.spending.epsilon == pytest.approx(epochs_epsilon(collection.method, epochs=2), abs=1e-12)
    with pytest.raises(AlreadyReported):
        report(EPOCH)
    book = Book(terms=Terms(), spending=ledger.spending)
    assert book_of(json_of(book)) == book


MEMOISED = ItemCollection.load(GOLDEN / "memoised-films.yaml")
ZEROS, OTHER = bytes(SECRET_BYTES), bytes([1]) * SECRET_BYTES


def changed(**changes: object) -> ItemCollection:
    return ItemCollection.model_validate({**MEMOISED.document, **changes})


def test_the_words_of_each_user_purpose_and_collection_are_their_own() -> None:
    again, *others = [
        permanent_words(collection, key=key)(purpose).words(4).tobytes()
        for collection, key, purpose in (
            (MEMOISED, ZEROS, b"row"),
            (MEMOISED, OTHER, b"row"),
            (MEMOISED, ZEROS, b"set"),
            (changed(collection="other"), ZEROS, b"row"),
            (changed(mechanism={**MEMOISED.document["mechanism"], "lifetime": 3}), ZEROS, b"row"),
        )
    ]
    assert again == permanent_words(MEMOISED, key=ZEROS)(b"row").words(4).tobytes()
    assert len({again, *others}) == 5


def test_the_two_signs_have_different_words() -> None:
    assert (
        sign_words(MEMOISED, 0, key=ZEROS).words(2).tolist() != sign_words(MEMOISED, 1, key=ZEROS).words(2).tolist()
    )


def test_a_method_without_permanent_signs_says_so() -> None:
    with pytest.raises(TypeError, match=r"no permanent sign"):
        held_sign(ItemCollection.load(GOLDEN / "films.yaml"), ItemSets.of([[1]]), secret=ZEROS)


def test_permanent_responses_match_the_golden_vectors() -> None:
    """And the report that fresh words make of each."""
    oracle = MEMOISED.method.oracle(MEMOISED.method.first())
    assert isinstance(oracle, LolohaResponse)
    vectors = json.loads((GOLDEN / "loloha.json").read_text(encoding="utf-8"))
    assert MEMOISED.fingerprint.hex() == vectors["fingerprint"]
    assert hashlib.sha256(vectors["canonical"].encode()).hexdigest()[:32] == vectors["fingerprint"]
    assert oracle.response.chances == vectors["chances"]
    for vector in vectors["responses"]:
        sets, secret = ItemSets.of([vector["items"]]), bytes.fromhex(vector["secret"])
        words = permanent_words(MEMOISED, key=secret)
        assert held_sign(MEMOISED, sets, secret=secret) == vector["sign"]
        permanent = oracle.permanent(sets.items, padding=vectors["slots"], words=words)
        assert permanent.tobytes().hex() == vector["permanent"]
        for fresh in vector["reports"]:
            sent = respond(
                MEMOISED.method,
                MEMOISED.method.first(),
                sets,
                # The other sign is drawn whether or not it is sent: one word more.
                entropy=GivenWords(np.array([*fresh["words"], 0], dtype=np.uint32)),
                permanent=[words],
            )
            assert sent.tobytes().hex() == fresh["row"]


@pytest.mark.parametrize("items", [3, 8, 1_000])
def test_a_client_written_from_the_specification_keeps_the_same_responses(items: int) -> None:
    mechanism = {**MEMOISED.document["mechanism"], "set_size": 3}
    collection = changed(items={"size": items}, mechanism=mechanism)
    oracle = collection.method.oracle(collection.method.first())
    assert isinstance(oracle, LolohaResponse)
    client = Sets(json.loads(json.dumps(collection.document)) | {"window": {"size": "60s"}})
    assert client.fingerprint == collection.fingerprint
    rng = np.random.default_rng(1)
    for number in range(100):
        secret = number.to_bytes(SECRET_BYTES, "big")
        held = rng.choice(items, size=int(rng.integers(0, min(items, 9) + 1)), replace=False)
        ours = oracle.permanent(held, padding=3, words=permanent_words(collection, key=secret))
        # With this fresh word, the permanent sign is sent.
        assert ours.tobytes() == client.memoised_row(secret, sorted(held.tolist()), 0)
