"""Make the context of TLS connections from PEM files, and say which of them is wrong."""

import ssl
from pathlib import Path

from stream_ldp.kafka.settings_sources import SettingsError

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
