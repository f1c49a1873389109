"""What is learnt passes through its message whole, and a message that does not fit itself is refused."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from stream_ldp.pipeline.learnt import Learnt
from stream_ldp.pipeline.local_level import Noise, Updated, follow


def updated() -> Updated:
    noise = Noise(sampling=np.zeros(2), fresh=np.full(2, 1e-3), permanent=np.full(2, 2e-3))
    first = follow(None, np.array([0.2, 0.8]), noise, scale=np.ones(2), reports=100.0)
    return follow(first.level, np.array([0.25, 0.75]), noise, scale=np.ones(2), reports=100.0)


def test_the_next_window_gets_what_this_one_left_to_the_last_bit() -> None:
    left = updated()
    level = Learnt.model_validate_json(Learnt.of(left, final=True).model_dump_json()).level
    assert level is not None
    for name in ("mean", "variances", "permanent", "evidence"):
        assert getattr(level, name).tobytes() == getattr(left.level, name).tobytes()


def test_a_provisional_answer_leaves_nothing() -> None:
    assert Learnt.of(updated(), final=False).level is None


def test_estimates_without_as_many_errors_are_refused() -> None:
    document = Learnt.of(updated(), final=True).model_dump()
    with pytest.raises(ValidationError, match="differ in number"):
        Learnt.model_validate(document | {"standard_error": [0.1]})
