"""Answers to rounds are compared with those of a client that is written from the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_ldp.audit.specified_rounds import round_differences
from stream_ldp.audit.wire.sets import Sets
from stream_ldp.kinds import kind_of, rounds_of
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle
from tests.client.items import films

#: Whose phases answer by every response there is.
MECHANISMS = [
    "{kind: svim, epsilon: 3, k: 3, set_size: 4}",
    "{kind: gfim, epsilon: 2.345, k: 2, k_max: 4, set_size: 2}",
    "{kind: gfim-users, epsilon: 1, k: 2, set_size: 3}",
    "{kind: gfim, epsilon: 3, k: 2, k_max: 4, set_size: 2, hash_bits: 3}",
    "{kind: ldpminer, epsilon: 4, k: 3, set_size: 3}",
    "{kind: loloha, epsilon: 1, lifetime: 2, k: 2, set_size: 2}",
]


def found(mechanism: str) -> list[str]:
    collection: Any = films(mechanism=mechanism, size="10s")
    asked = rounds_of(collection).asked(collection, 0)
    return list(round_differences(collection, kind_of(collection).reports, asked, Sets(collection.document)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_honest_answers_of_every_method_are_those_of_the_specification(mechanism: str) -> None:
    assert found(mechanism) == []


def test_an_answer_to_another_slot_or_through_another_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = FrequencyOracle.sampled
    with monkeypatch.context() as patch:
        patch.setattr(
            FrequencyOracle,
            "sampled",
            lambda self, *sets, padding, entropy: original(self, *sets, padding=max(padding - 1, 1), entropy=entropy),
        )
        assert "a row is not that of the specification" in found(MECHANISMS[0])[0]
    with monkeypatch.context() as patch:
        patch.setattr(DirectResponse, "respond", lambda self, values, *, entropy: np.asarray(values))
        assert found(MECHANISMS[0]) != []
