"""Collections whose users answer one question: the table of users, and what the fingerprint covers."""

import json

import numpy as np
import pytest

from stream_ldp.collection import CollectionError, fingerprint_of
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import OSEntropy
from tests.marginals.examples import TEXT, collection_of

RECORD = {"diet": "fish", "age": "41", "smokes": "no"}


def test_a_record_becomes_a_row_of_the_table() -> None:
    collection = collection_of()
    encoded = collection.encode(RECORD)
    assert encoded == (1, 41.0, 0)
    table = collection.table([encoded, collection.encode({**RECORD, "diet": "meat"})])
    assert table["0"].tolist() == [1, 0]
    assert table["1"].tolist() == [41.0, 41.0]
    assert collection.table(table) is table


def test_the_fingerprint_is_that_of_the_documented_json() -> None:
    text = (
        '["diets","sampled",[["diet",["meat","fish","plants"]],["age",[0.0,100.0]],["smokes",["no","yes"]]],'
        '[[[0],"direct",[3,0,3380079313]],[[1],"piecewise",[128,33,2816488616]],[[2],"direct",[2,0,3782994644]]],'
        "[1431655765,2863311531,4294967296]]"
    )
    assert fingerprint_of(json.loads(text)) == collection_of("epsilon: 2").fingerprint


def test_two_attributes_of_one_name_are_refused_with_their_place() -> None:
    text = TEXT.format(mechanism="epsilon: 2", window="").replace("name: smokes", "name: diet")
    with pytest.raises(CollectionError, match=r"<collection>:7:12: attributes\.2\.name: .*'diet' is given twice"):
        SampledCollection.parse(text)


def test_every_user_is_asked_at_any_time() -> None:
    collection = collection_of()
    assert np.array_equal(collection.asks([bytes(32)] * 3, time_ms=5), [True] * 3)
    assert np.array_equal(collection.asks_some(2, entropy=OSEntropy()), [True] * 2)
