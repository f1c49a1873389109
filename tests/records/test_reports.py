"""Reports of records: the permanent response of each user, and the pseudonym before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.ledger.terms import Assumption
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges, reports
from tests.client.examples import collection_of
from tests.ledger.surveys import KEY, SURVEY, spent
from tests.ledger.surveys import collection_of as survey_of

PERMANENT_ONLY = collection_of(mechanism="{kind: rr-ldp, f: 0.25}")
LINKED = JointCollection.model_validate(collection_of().document | {"linked": 3_600_000})
SECRETS = [bytes([user]) * 32 for user in range(8)]
TABLE = PERMANENT_ONLY.table([(user % 2, user % 3) for user in range(8)])


def made(collection: JointCollection, *, seed: int = 0, **options: Any) -> Any:
    given: dict[str, Any] = {"secrets": SECRETS, "memoises": True, "time_ms": 0} | options
    return reports(collection, TABLE, entropy=SeededEntropy(seed), **given)


def test_a_user_repeats_one_permanent_response() -> None:
    words = PERMANENT_ONLY.permanent_words().words_of(SECRETS, TABLE)
    expected = PERMANENT_ONLY.mechanism.perturb(TABLE, entropy=SeededEntropy(9), permanent_words=words)
    assert np.array_equal(made(PERMANENT_ONLY, seed=1), expected)
    assert not np.array_equal(made(PERMANENT_ONLY, seed=1, memoises=False), made(PERMANENT_ONLY, memoises=False))


def test_a_pseudonym_stands_before_each_row_and_is_drawn_afresh_with_fresh_noise() -> None:
    names = LINKED.pseudonyms(8, secrets=SECRETS, time_ms=0, entropy=SeededEntropy(0))
    assert np.array_equal(made(LINKED)[:, : names.shape[1]], names)
    fresh = [made(LINKED, seed=seed, memoises=False)[:, : names.shape[1]] for seed in (1, 2)]
    assert len(np.unique(np.concatenate([names, *fresh]), axis=0)) == 24


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"mechanism": {"kind": "rr-ldp", **SURVEY, "f": 0.25}},
        {"attribute": "another"},
        {"values": ["value-1", "value-0"]},
        {"values": ["value-0", "value-1", "value-2"]},
    ],
)
def test_responses_that_are_drawn_anew_are_distinguished_from_those_shown_before(change: dict[str, object]) -> None:
    """Exactly where a collection's permanent words change, its reports show other responses with other tags."""
    old = survey_of(2)
    document = old.document
    attribute = {
        "name": change.get("attribute", "attribute-0"),
        "values": change.get("values", document["attributes"][0]["values"]),
    }
    new = JointCollection.model_validate(
        document
        | {
            "collection": change.get("name", "survey"),
            "mechanism": change.get("mechanism", document["mechanism"]),
            "attributes": [attribute],
            "estimates": [{"name": "all", "of": [attribute["name"]]}],
        }
    )
    assert new.permanent_words().words(KEY, [0])[:2].tolist() != old.permanent_words().words(KEY, [0])[:2].tolist()
    (first,), (second,) = (charges(each, [(0,)], secret=KEY, tag_key=KEY) for each in (old, new))
    assert first.responses != second.responses
    assert first.tags != second.tags
    both = spent(new, [(0,)], before=spent(old, [(0,)]))
    assert both.assumption is Assumption.CONSTANT
    assert both.epsilon == pytest.approx(old.mechanism.epsilon() + new.mechanism.epsilon(), abs=1e-12)


def test_adding_an_attribute_keeps_the_responses_of_the_others() -> None:
    alone, both = survey_of(2), survey_of(2, 3)
    spending = spent(both, [(1, 2)], before=spent(alone, [(1,)]))
    expected = alone.mechanism.epsilon(reports=2) + alone.mechanism.epsilon(reports=1)
    assert spending.epsilon == pytest.approx(expected, abs=1e-12)


def test_no_records_show_nothing() -> None:
    assert charges(survey_of(2), [], secret=KEY, tag_key=KEY) == ()
