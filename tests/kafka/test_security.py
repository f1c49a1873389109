"""Tests that no log, at whatever level, and no error tells what proves who a client is."""

from __future__ import annotations

import base64
import logging
import subprocess
import traceback
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.security import TokenFile
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


async def test_a_token_that_is_replaced_is_used_for_the_next_connection(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    provider = TokenFile(path)
    assert await provider.token() == "first"
    path.write_text("second")
    assert await provider.token() == "second"


async def test_a_token_that_cannot_be_read_is_an_error_of_its_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="token"):
        await TokenFile(tmp_path / "token").token()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def test_a_broker_whose_name_differs_from_its_certificate_is_not_trusted() -> None:
    context = Settings.load(security_protocol="SSL").ssl_context()
    assert context is not None
    assert context.check_hostname


def test_a_tls_file_that_is_not_pem_is_named(file: Path) -> None:
    file.write_text("not PEM")
    with pytest.raises(SettingsError, match=r"tls_ca_file .*settings\.yaml is not a PEM certificate"):
        Settings.load(security_protocol="SSL", tls_ca_file=file).ssl_context()
    with pytest.raises(SettingsError, match=r"tls_cert_file .*settings\.yaml is not a PEM certificate"):
        Settings.load(security_protocol="SSL", tls_cert_file=file).ssl_context()


@pytest.fixture
def encrypted(tmp_path: Path) -> dict[str, Any]:
    """Make a certificate with a key that the password `geheim` opens, and return their settings."""
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=us -passout pass:geheim"
    subprocess.run(
        ["openssl", *made.split(), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    return {
        "security_protocol": "SSL",
        "tls_cert_file": tmp_path / "cert.pem",
        "tls_key_file": tmp_path / "key.pem",
    }


def test_an_encrypted_key_is_opened_by_its_password(encrypted: dict[str, Any], file: Path) -> None:
    file.write_text("geheim\n")
    for given in ({"tls_key_password": "geheim"}, {"tls_key_password_file": file}):
        assert Settings.load(**encrypted, **given).ssl_context() is not None


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {},
            r"the key in tls_key_file .*key\.pem is encrypted, and tls_key_password_file is not given; it opens with",
        ),
        ({"tls_key_password": "falsch"}, "is encrypted, and tls_key_password is not its password; it opens with"),
        ({"tls_key_password": ""}, "is encrypted, and tls_key_password is not its password; it opens with"),
        (
            {"tls_key_password_file": Path("/dev/null")},
            "is encrypted, and tls_key_password_file is not its password",
        ),
        ({"tls_key_file": Path("/dev/null")}, r"tls_key_file /dev/null has no PEM private key"),
        ({"tls_key_file": None}, r"tls_cert_file .*cert\.pem has no PEM private key; tls_key_file is the file"),
        ({"tls_key_password": "falsch" * 200}, "password cannot be longer than 1024 bytes"),
    ],
)
def test_an_encrypted_key_that_stays_shut_is_reported_without_a_prompt_at_the_terminal(
    encrypted: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        Settings.load(**(encrypted | given)).ssl_context()
    assert "falsch" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("algorithm", ["ed25519", "EC -pkeyopt ec_paramgen_curve:P-256"])
def test_the_key_of_another_certificate_is_reported_as_such(
    encrypted: dict[str, Any], tmp_path: Path, algorithm: str
) -> None:
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", *algorithm.split(), "-out", "other.pem"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    given = encrypted | {"tls_key_file": tmp_path / "other.pem"}
    with pytest.raises(SettingsError, match=r"tls_key_file .*other\.pem has the key of another certificate than"):
        Settings.load(**given).ssl_context()
