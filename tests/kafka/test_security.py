"""Tests that no log, at whatever level, and no error tells what proves who a client is."""

import base64
import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError
from tests.kafka.secured import PASSWORD, SecuredKafka, token

MECHANISMS = ("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER")


def settings_of(kafka: SecuredKafka, mechanism: str, secret: str, directory: Path) -> Settings:
    """Return the settings of the administrator, whose password or token is in a file."""
    file = directory / "secret"
    file.write_text(secret)
    flags: dict[str, Any] = kafka.settings("admin", sasl_mechanism=mechanism, sasl_password=None)
    if mechanism == "OAUTHBEARER":
        return Settings.load(**{**flags, "sasl_username": None, "sasl_token_file": file})
    return Settings.load(**flags, sasl_password_file=file)


def all_of(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with the arguments that a formatter may show by themselves."""
    return "\n".join(f"{record.getMessage()} {record.args!r} {record.exc_info!r}" for record in caplog.records)


def forms_of(secret: str) -> list[str]:
    """List forms in which a secret could be found, in part."""
    return [secret, base64.b64encode(secret.encode()).decode().rstrip("=")]


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_no_secret_is_logged_at_any_level(
    mechanism: str, kafka: SecuredKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = token("admin") if mechanism == "OAUTHBEARER" else PASSWORD
    settings = settings_of(kafka, mechanism, secret, tmp_path)
    with caplog.at_level(logging.DEBUG, logger="aiokafka"):
        async with Cluster.connect(settings) as cluster:
            assert await cluster.size() == 1
    logged = all_of(caplog)
    assert "SaslAuthenticate" in logged
    assert "sasl_auth_bytes" not in logged
    assert not any(form in logged + settings.printable() + repr(settings) for form in forms_of(secret))


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_no_secret_is_in_the_error_that_refuses_it(
    mechanism: str, kafka: SecuredKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = token("admin", expired=True) if mechanism == "OAUTHBEARER" else f"not-{PASSWORD}"
    settings = settings_of(kafka, mechanism, secret, tmp_path)
    with caplog.at_level(logging.DEBUG, logger="aiokafka"), pytest.raises(BrokerUnreachable) as refused:
        async with Cluster.connect(settings):
            pass
    told = "".join(traceback.format_exception(refused.value)) + all_of(caplog)
    assert not any(form in told for form in forms_of(secret))


def test_a_settings_file_that_is_not_yaml_is_refused_without_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f'brokers: a:1\nsasl_password: "{PASSWORD}\n')
    with pytest.raises(SettingsError, match=r"is not YAML: found unexpected end of stream, in line 3") as refused:
        Settings.load(config=file)
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))
