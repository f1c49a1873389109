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


def test_a_broker_runs_within_its_block_and_stops_when_the_block_fails() -> None:
    broker = _Recorded()
    with pytest.raises(LookupError), broker as entered:
        assert entered is broker
        assert broker.calls == ["start"]
        raise LookupError
    assert broker.calls == ["start", "stop"]
