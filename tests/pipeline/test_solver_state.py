"""The header of what a final leaves to the next one: whole, beside a value without it, or refused."""

from __future__ import annotations

import json

import pytest

from stream_ldp.message_part import MessagePart, SolverState, StateField
from stream_ldp.pipeline.solver_state import HEADER, state_of, with_state


class Left(SolverState):
    numbers: tuple[float, ...]
    inner: StateField[Left] = None


class Said(MessagePart):
    number: float
    left: StateField[Left] = None


class Message(MessagePart):
    one: Said
    many: tuple[Said, ...] = ()


MESSAGE = Message(
    one=Said(number=1.0, left=Left(numbers=(0.1, 0.2), inner=Left(numbers=(0.3,)))),
    many=(Said(number=2.0), Said(number=3.0, left=Left(numbers=(4.0,)))),
)


def value_of(message: Message) -> bytes:
    return message.model_dump_json().encode()


def test_parts_at_any_depth_leave_the_value_and_come_back() -> None:
    value, headers = value_of(MESSAGE), state_of(MESSAGE)
    assert json.loads(value) == {"one": {"number": 1.0}, "many": [{"number": 2.0}, {"number": 3.0}]}
    ((name, state),) = headers
    assert name == HEADER
    assert list(json.loads(state)) == ["/one/left", "/one/left/inner", "/many/1/left"]
    assert Message.model_validate_json(with_state(value, headers)) == MESSAGE


def test_a_message_without_such_parts_has_no_header() -> None:
    plain = Message(one=Said(number=1.0))
    assert state_of(plain) == ()
    assert with_state(value_of(plain), (("content-type", b"x"), ("other", None))) == value_of(plain)


def test_no_schema_has_such_parts() -> None:
    assert list(Said.model_json_schema(mode="serialization")["properties"]) == ["number"]


@pytest.mark.parametrize(
    ("state", "match"),
    [
        (b"[]", "no JSON object"),
        (b"{", "Expecting"),
        (b"\xff", "utf-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"/none/left": {}}', "/none, which the value does not have"),
        (b'{"/many/7/left": {}}', "/many/7, which the value does not have"),
        (b'{"/many/left": {}}', "/many, which is no object"),
        (b'{"/one/number/left": {}}', "/one/number, which is no object"),
    ],
)
def test_a_header_that_does_not_fit_its_value_is_refused(state: bytes, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        with_state(value_of(MESSAGE), ((HEADER, state),))
