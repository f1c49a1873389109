"""Sampled collections: what a file may say, what its fingerprint covers, and how records become users."""

from __future__ import annotations

import pytest

from stream_ldp.errors import DataError
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.marginals.collection import SampledCollection
from tests.marginals.examples import TEXT, collection_of

RECORD = {"diet": "fish", "age": "41", "smokes": "no"}


def test_its_mechanism_tells_the_kind() -> None:
    assert kind_of(parse_collection(TEXT.format(mechanism="epsilon: 1", window=""))).name == "sampled"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"diet": "fish", "smokes": "no"}, "attribute 'age' is missing"),
        ({**RECORD, "diets": "fish"}, "'diets' is not an attribute of collection 'diets'; did you mean 'diet'?"),
        ({**RECORD, "age": "nan"}, "attribute 'age': the given value is not a number"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: dict[str, str], message: str) -> None:
    with pytest.raises(DataError) as raised:
        collection_of().encode(record)
    assert str(raised.value) == message


def test_the_fingerprint_covers_what_a_report_means_and_nothing_else() -> None:
    base = collection_of().fingerprint
    assert collection_of(window=", idle_timeout: 1s").fingerprint == base
    for mechanism in ("epsilon: 2.5", "epsilon: 2, oracle: hadamard", "epsilon: 2, mean: harmony-mean"):
        assert collection_of(mechanism).fingerprint != base
    for old, new in (("fish", "fowl"), ("[0, 100]", "[0, 99]"), ("collection: diets", "collection: meals")):
        changed = SampledCollection.parse(TEXT.format(mechanism="epsilon: 2", window="").replace(old, new))
        assert changed.fingerprint != base
