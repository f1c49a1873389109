"""Tests of the Faust app: with whom it shares the merging, how it connects, and that it fails as a whole."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.service.faust_app import faust_app
from stream_ldp.service.merger import Merger


def test_consumers_give_up_silent_connections_after_the_longest_fetch(
    tmp_path: Path,
) -> None:
    settings = Settings.load(brokers="nowhere:1", rebalance_timeout_ms=20_000)
    app = faust_app(settings, cast("Merger", None), group="merge", datadir=str(tmp_path))
    assert app.conf.broker_request_timeout == settings.request_timeout_ms / 1_000 == 25.0


SASL_SSL = {"security_protocol": "SASL_SSL", "sasl_username": "worker", "sasl_password": "geheim"}


def credentials(settings: Settings, directory: Path) -> Any:
    app = faust_app(settings, cast("Merger", None), group="merge", datadir=str(directory))
    return app.conf.broker_credentials


def test_faust_gets_tls_whenever_aiokafka_gets_it(tmp_path: Path) -> None:
    # Faust falls back to SASL_PLAINTEXT, and sends the password in clear, where no context is given.
    for flags in (SASL_SSL, {**SASL_SSL, "security_protocol": "SASL_PLAINTEXT"}, {"security_protocol": "SSL"}):
        settings = Settings.load(**flags)
        assert credentials(settings, tmp_path).protocol.value == settings.client_options()["security_protocol"]
    assert credentials(Settings.load(), tmp_path) is None


def test_faust_authenticates_as_aiokafka_does(tmp_path: Path) -> None:
    settings = Settings.load(**SASL_SSL, sasl_mechanism="SCRAM-SHA-256")
    given, options = credentials(settings, tmp_path), settings.client_options()
    assert given.mechanism.value == options["sasl_mechanism"] == "SCRAM-SHA-256"
    assert given.username == options["sasl_plain_username"] == "worker"
    assert given.password == options["sasl_plain_password"] == "geheim"


async def test_faust_brings_the_token_of_the_file_as_aiokafka_does(tmp_path: Path) -> None:
    (file := tmp_path / "token").write_text("of the hour\n")
    settings = Settings.load(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_token_file=file)
    assert await credentials(settings, tmp_path).oauth_cb.token() == "of the hour"


@pytest.mark.parametrize(
    ("error", "reason"), [(ZeroDivisionError("a bug"), ZeroDivisionError), (asyncio.CancelledError(), RuntimeError)]
)
async def test_a_part_that_fails_for_whatever_reason_ends_the_whole_app(
    tmp_path: Path, error: BaseException, reason: type[Exception]
) -> None:
    """Faust alone would take the record for processed, and restart the agent every few seconds."""

    class Broken:
        async def apply(self, entry: LogEntry) -> None:
            raise error

    class Stream:
        async def events(self) -> AsyncIterator[Any]:
            record = SimpleNamespace(topic="partials", partition=0, offset=7, key=None, value=b"")
            yield SimpleNamespace(message=SimpleNamespace(headers=(("stream-ldp-records", [record]),)))

    app = faust_app(Settings.load(), cast("Merger", Broken()), group="merge", datadir=str(tmp_path))
    (agent,) = app.agents.values()
    with pytest.raises(reason):
        await agent.fun(Stream())
    assert app.crashed
    assert isinstance(app.crash_reason, reason)
