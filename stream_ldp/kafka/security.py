"""How clients and brokers protect a connection: TLS, how clients prove who they are, and what no log may show."""

from __future__ import annotations

import asyncio
import logging
import ssl
from enum import StrEnum
from pathlib import Path

from aiokafka.abc import AbstractTokenProvider

from stream_ldp.kafka.settings_sources import SettingsError


class SecurityProtocol(StrEnum):
    """The protocol between a client and a broker, by Kafka's own names."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypted(self) -> bool:
        """True for connections over TLS."""
        return self in {self.SSL, self.SASL_SSL}

    @property
    def authenticated(self) -> bool:
        """True for connections with a user name and a password, or with a token."""
        return self in {self.SASL_PLAINTEXT, self.SASL_SSL}


class SaslMechanism(StrEnum):
    """The mechanism by which a client proves to a broker who it is."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


#: Beginning of the names of the requests and responses that authenticate, of every version.
_AUTHENTICATION = "SaslAuthenticate"


class _Redaction(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_redacted(each) for each in record.args)
        return True


def _redacted(argument: object) -> object:
    name = type(argument).__name__
    return f"{name}(not shown)" if name.startswith(_AUTHENTICATION) else argument


_REDACTION = _Redaction()


def hide_secrets() -> None:
    """Keep secrets out of the log of aiokafka from now on; it may be called any number of times.

    At the level DEBUG aiokafka logs every request as it was sent. With it come the password of SASL's PLAIN, the
    token of OAUTHBEARER, and the proofs of SCRAM, from which a weak password can be guessed.
    """
    logging.getLogger("aiokafka.conn").addFilter(_REDACTION)


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]
    """A token file is read anew for each connection."""

    def __init__(self, path: Path) -> None:
        """Prepare for a file."""
        self._path = path

    async def token(self) -> str:
        """Return the token, without the white space around it; raises OSError if the file cannot be read."""
        return (await asyncio.to_thread(self._path.read_text, encoding="utf-8")).strip()


#: What OpenSSL calls a key that is not the certificate's: of the same algorithm, and of another one.
_OTHER_KEY = frozenset({"KEY_VALUES_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})


def tls_context(
    *, ca: Path | None, certificate: Path | None, key: Path | None, password: str | None, password_setting: str
) -> ssl.SSLContext:
    """Make the context, which checks the broker's host name.

    ca: file of the authority to trust; None for those of the system.
    certificate: file of the client's own certificate; None if it has none.
    key: file of the certificate's key; None if the certificate's own file has it.
    password: that of the key; None if none is given.
    password_setting: name of the setting that gives it, or should.

    Raises:
        SettingsError: a file cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise SettingsError(f"tls_ca_file {ca} is not a PEM certificate") from error
    if certificate is not None:
        try:
            # Without any password, OpenSSL would ask for that of an encrypted key at the terminal.
            context.load_cert_chain(certificate, key, password=password or "")
        except (ssl.SSLError, ValueError) as error:
            wrong = (
                f"{password_setting} is not given" if password is None else f"{password_setting} is not its password"
            )
            raise SettingsError(_why_no_certificate(error, certificate, key, password=wrong)) from error
    return context


def _why_no_certificate(
    error: ssl.SSLError | ValueError, certificate: Path, key: Path | None, *, password: str
) -> str:
    """Say which of the files and settings of a certificate is wrong; OpenSSL itself names none.

    password: what to say of the password if the key is encrypted.
    """
    file, setting = (certificate, "tls_cert_file") if key is None else (key, "tls_key_file")
    text = file.read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in certificate.read_bytes():
        return f"tls_cert_file {certificate} is not a PEM certificate"
    if b" PRIVATE KEY-----" not in text:
        return f"{setting} {file} has no PEM private key; tls_key_file is the file that has one"
    if getattr(error, "reason", None) in _OTHER_KEY:
        return f"{setting} {file} has the key of another certificate than that of tls_cert_file {certificate}"
    if b"ENCRYPTED" not in text:
        return f"tls_cert_file {certificate} and its key cannot be used: {error.args[-1]}"
    # OpenSSL does not even try a password that is too long for it.
    why = password if isinstance(error, ssl.SSLError) else f"this failed: {error}"
    return f"the key in {setting} {file} is encrypted, and {why}; it opens with the password that it was made with"
