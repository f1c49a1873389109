"""Tests of what is tried again, and for how long."""

from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.errors import (
    CorruptRecordException,
    GroupAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailedError,
    for_code,
)

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka import patience
from stream_ldp.kafka.cluster import NoCoordinator
from stream_ldp.kafka.connection import AccessRefused, BrokerUnreachable
from stream_ldp.kafka.patience import is_of_the_environment, passes, patiently
from stream_ldp.kafka.registry import RegistryError


class Asked:
    """A question that fails some times before it is answered; each try takes a second."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.seconds = 0.0

    async def __call__(self) -> str:
        self.seconds += 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"

    def clock(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "RETRY_SECONDS", 0.0)


async def test_what_passes_with_an_outage_is_tried_until_it_is_answered() -> None:
    failures = [KafkaConnectionError(), BrokerUnreachable("starting"), RegistryError("slow")]
    waiting: list[Exception] = []
    asked = Asked(*failures)
    assert await patiently(asked, seconds=60, waiting=waiting.append, clock=asked.clock) == "answer"
    assert waiting == failures


@pytest.mark.parametrize(
    "error", [TopicAuthorizationFailedError("care"), AccessRefused("password"), StreamLDPError()]
)
async def test_what_does_not_pass_is_raised_at_once(error: Exception) -> None:
    asked = Asked(error)
    with pytest.raises(type(error)):
        await patiently(asked, seconds=60, clock=asked.clock)
    assert asked.seconds == 1


def wrapped(error: Exception) -> KafkaError:
    """Wrap an error as aiokafka does."""
    wrapping = KafkaError(repr(error))
    wrapping.__cause__ = error
    return wrapping


def test_a_failure_passes_whatever_aiokafka_has_wrapped_it_in() -> None:
    assert passes(wrapped(wrapped(KafkaConnectionError())))
    assert passes(CorruptRecordException())
    assert not passes(wrapped(TopicAuthorizationFailedError()))
    assert not passes(wrapped(KeyError()))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (wrapped(KeyError()), True),
        (CorruptRecordException(), True),
        (KafkaError("KafkaConnectionError('Connection at broker:9092 closed')"), True),
        (wrapped(GroupAuthorizationFailedError("group")), False),
        (StreamLDPError("a bug, or lost reports"), False),
        (KeyError(), False),
        (None, False),
    ],
)
def test_a_failure_of_brokers_or_networks_is_none_of_the_data_and_no_refusal(
    error: Exception | None, expected: bool
) -> None:
    assert is_of_the_environment(error) is expected
    outer = RuntimeError()
    outer.__cause__ = error
    assert is_of_the_environment(outer) is expected


@pytest.mark.parametrize(("call", "expected"), [(for_code, True), (hash, False)])
def test_an_error_that_comes_out_of_aiokafka_is_one_of_the_environment_whatever_its_class(
    call: Callable[[Any], object], expected: bool
) -> None:
    with pytest.raises(TypeError) as raised:
        call([])
    assert is_of_the_environment(raised.value) is expected


def test_a_coordinator_that_is_away_passes() -> None:
    assert passes(NoCoordinator("group survey has no coordinator after 10 s"))


async def test_a_failure_that_was_waited_for_is_not_waited_for_again() -> None:
    asked = Asked(*[KafkaConnectionError()] * 100)
    with pytest.raises(KafkaConnectionError) as raised:
        await patiently(asked, seconds=3, clock=asked.clock)
    assert not is_of_the_environment(raised.value)
    assert is_of_the_environment(KafkaConnectionError())
    assert not is_of_the_environment(TimeoutError())


async def test_a_failure_is_raised_when_it_has_lasted_for_so_long() -> None:
    asked = Asked(*[KafkaConnectionError()] * 100)
    with pytest.raises(KafkaConnectionError):
        await patiently(asked, seconds=10, clock=asked.clock)
    assert asked.seconds == 10
