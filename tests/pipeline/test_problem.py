"""What is wrong with a message is said on one line, and without its values."""

import pytest
from pydantic import BaseModel, ValidationError

from stream_ldp.pipeline.problem import problem_of


class _Message(BaseModel):
    reports: int
    window: int


def test_of_many_faults_the_first_is_reported_with_its_place_and_without_the_value() -> None:
    with pytest.raises(ValidationError) as caught:
        _Message.model_validate({"reports": "secret"})
    told = problem_of(caught.value)
    assert told.startswith("reports: Input should be a valid integer")
    assert told.endswith(" (and 1 more problems)")
    assert "secret" not in told


def test_other_errors_are_reported_by_their_first_line_or_by_their_name() -> None:
    assert problem_of(ValueError("it has no key\nat all")) == "it has no key"
    assert problem_of(ValueError()) == "ValueError()"
