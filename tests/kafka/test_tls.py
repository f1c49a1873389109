"""Tests of the context of TLS connections: whom it trusts, and that what is wrong with a file is said by its name."""

import subprocess
import traceback
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import SettingsError


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
