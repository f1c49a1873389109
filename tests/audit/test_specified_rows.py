"""Rows are compared with those of a client that is written from the specification, for every kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import yaml

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.specified_rows import (
    OneWord,
    differences,
    keyed_differences,
    round_differences,
    turn_differences,
    w_event_claims,
)
from stream_ldp.audit.wire.sets import Sets
from stream_ldp.collection import Collection
from stream_ldp.kinds import KINDS, kind_of, parse_collection, rounds_of
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle
from stream_ldp.mechanisms.randomness import permanent
from stream_ldp.mechanisms.randomness.permanent import KeyedWords
from tests.client.items import films
from tests.coins import TEXT as COINS
from tests.schemas.recorded import COLLECTIONS
from tests.toy import Coins

#: Whose phases answer by every response there is.
MECHANISMS = [
    "{kind: svim, epsilon: 3, k: 3, set_size: 4}",
    "{kind: gfim, epsilon: 2.345, k: 2, k_max: 4, set_size: 2}",
    "{kind: gfim-users, epsilon: 1, k: 2, set_size: 3}",
    "{kind: gfim, epsilon: 3, k: 2, k_max: 4, set_size: 2, hash_bits: 3}",
    "{kind: ldpminer, epsilon: 4, k: 3, set_size: 3}",
    "{kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}",
]


def found(text: str, reports: Callable[..., Any] | None = None) -> list[str]:
    collection = parse_collection(text)
    kind = kind_of(collection)
    client = kind.specified(yaml.load(text, Loader=yaml.BaseLoader), collection.meaning)
    return list(differences(collection, reports or kind.reports_at_once, client))


@pytest.mark.parametrize("kind", KINDS)
def test_honest_rows_of_every_kind_are_those_of_the_specification(kind: str) -> None:
    assert found(COLLECTIONS[kind]) == []


def test_rows_of_a_kind_that_the_package_does_not_know_are_compared(coins: Coins) -> None:
    assert found(COINS) == []

    def inverted(*arguments: Any, **options: Any) -> Any:
        reports = kind_of(coins).reports
        assert reports is not None
        return reports(*arguments, **options) ^ np.uint8(1)

    assert len(found(COINS, inverted)) == 3


def test_words_that_come_again_after_a_block_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(keyed_differences()) == []
    monkeypatch.setattr(permanent, "_BLOCK_BYTES", 32)
    (problem,) = keyed_differences()
    assert "not those of the specification" in problem
    monkeypatch.undo()
    words = KeyedWords.words
    monkeypatch.setattr(KeyedWords, "words", lambda self, n: words(self, n) & np.uint32(0))
    assert list(keyed_differences()) != []


SAMPLED = """
collection: diets
mechanism: {kind: sampled, epsilon: 2}
attributes: [{name: diet, values: [meat, fish, plants]}, {name: age, range: [0, 100]}]
window: {size: 10s}
"""


def test_a_collection_that_spends_more_than_its_file_says_is_found() -> None:
    collection = parse_collection(SAMPLED.replace("epsilon: 2", "epsilon: 2.5"))
    kind = kind_of(collection)
    client = kind.specified(yaml.load(SAMPLED, Loader=yaml.BaseLoader), collection.meaning)
    assert "costs 2.5 nats, and the file says 2" in next(differences(collection, kind.reports, client))


@pytest.mark.parametrize("word", [0, 2**31, 2**32 - 1])
def test_equal_words_decide_by_their_thresholds_alone(word: int) -> None:
    thresholds = np.array([0, 2**31 - 2, 2**31 + 2, 2**32])
    assert OneWord(word).below(thresholds).tolist() == [word < threshold for threshold in thresholds.tolist()]


def found_in_rounds(mechanism: str) -> list[str]:
    collection: Any = films(mechanism=mechanism, size="10s")
    asked = rounds_of(collection).asked(collection, 0)
    return list(round_differences(collection, kind_of(collection).reports, asked, Sets(collection.document)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_honest_answers_of_every_method_are_those_of_the_specification(mechanism: str) -> None:
    assert found_in_rounds(mechanism) == []


def test_an_answer_to_another_slot_or_through_another_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = FrequencyOracle.sampled
    with monkeypatch.context() as patch:
        patch.setattr(
            FrequencyOracle,
            "sampled",
            lambda self, *sets, padding, entropy: original(self, *sets, padding=max(padding - 1, 1), entropy=entropy),
        )
        assert "a row is not that of the specification" in found_in_rounds(MECHANISMS[0])[0]
    with monkeypatch.context() as patch:
        patch.setattr(DirectResponse, "respond", lambda self, values, *, entropy: np.asarray(values))
        assert found_in_rounds(MECHANISMS[0]) != []


TEXT = """\
collection: care
mechanism: {kind: k-rr, epsilon: 1}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 1d}
estimates: [{name: bathing, of: [bathing]}]
rotate: 4
"""
FILE: dict[str, Any] = {
    "collection": "care",
    "mechanism": {"kind": "k-rr", "epsilon": 1},
    "attributes": [{"name": "bathing", "values": ["no", "yes"]}],
    "window": {"size": "1d"},
    "rotate": 4,
}
OF_ONE = Claim(about={"reports": 1}, claimed=1.0, enumerated=1.0)
FOR_EVER = Claim(about={"reports": 5}, claimed=3.0, enumerated=3.0)


def problems(collection: Collection) -> list[str]:
    return list(turn_differences(collection, kind_of(collection).specified(FILE, collection.meaning)))


def test_any_windows_cost_what_one_report_does() -> None:
    collection = parse_collection(TEXT)
    (claim,) = w_event_claims(collection, [OF_ONE, FOR_EVER], claimed=1.0)
    assert claim.holds
    assert claim.row == {
        "windows": 4,
        "turns": 1,
        "changes": "any",
        "allowed": 1.0,
        "claimed": 1.0,
        "enumerated": 1.0,
    }
    assert problems(collection) == []


def test_a_second_turn_disproves_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Collection.has_turn
    monkeypatch.setattr(
        Collection,
        "has_turn",
        lambda self, secrets, *, number: (
            honest(self, secrets, number=number) | honest(self, secrets, number=number + 1)
        ),
    )
    collection = parse_collection(TEXT)
    (claim,) = w_event_claims(collection, [OF_ONE], claimed=1.0)
    assert (claim.about["turns"], claim.enumerated, claim.holds) == (2, 2.0, False)
    assert problems(collection) != []


def test_a_collection_without_turns_claims_nothing_of_windows() -> None:
    assert list(w_event_claims(parse_collection(TEXT.replace("rotate: 4\n", "")), [OF_ONE], claimed=1.0)) == []
