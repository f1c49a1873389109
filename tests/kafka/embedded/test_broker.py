"""Tests of what all embedded brokers do."""

import pytest

from stream_ldp.kafka.embedded import EmbeddedBroker


class _Recorded(EmbeddedBroker):
    def __init__(self) -> None:
        self.calls: list[str] = []

    @property
    def bootstrap(self) -> str:
        return "127.0.0.1:1"

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")


def test_a_broker_runs_within_its_block() -> None:
    with _Recorded() as broker:
        assert broker.calls == ["start"]
    assert broker.calls == ["start", "stop"]


def test_a_broker_stops_when_its_block_fails() -> None:
    broker = _Recorded()
    with pytest.raises(ZeroDivisionError), broker:
        _ = 1 / 0
    assert broker.calls == ["start", "stop"]
