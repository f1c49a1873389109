"""This module has a broker with TLS, passwords, tokens and access rules, and what its clients need."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka

__all__ = ["PASSWORD", "SecuredKafka", "certificates", "secured", "token"]

#: That of every user.
PASSWORD = "geheim"


def token(user: str, *, expired: bool = False) -> str:
    """Make an OAuth token that nobody has signed."""
    now = time.time()
    claims = {"sub": user, "iat": now - 100, "exp": now - 50 if expired else now + 3_600}
    return (
        ".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
            for part in ({"alg": "none"}, claims)
        )
        + "."
    )


class SecuredKafka(EmbeddedKafka):
    """An embedded broker with three more ports, where nobody but the administrator may do anything.

    One is for TLS and passwords, one for TLS and certificates of clients. The last sends its clients to a port where
    nobody listens, as a broker behind a wrong port mapping does.
    """

    def __init__(self, certificates: Path, *, users: Sequence[str] = ("guest",)) -> None:
        super().__init__()
        self.users = ("admin", *users)
        self.certificates = certificates
        self.secured_port = EmbeddedKafka().port
        self.mutual_port = EmbeddedKafka().port
        self.misleading_port = EmbeddedKafka().port

    def properties(self) -> dict[str, str]:
        plain = super().properties()
        secured = f"SASL_SSL://127.0.0.1:{self.secured_port},MUTUAL://127.0.0.1:{self.mutual_port}"
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        # It believes tokens that nobody has signed, which only a test may.
        believing = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        believing += 'unsecuredLoginStringClaim_sub="broker";'
        return {
            **plain,
            "listeners": f"{plain['listeners']},{secured},ELSEWHERE://127.0.0.1:{self.misleading_port}",
            "advertised.listeners": f"{plain['advertised.listeners']},{secured},ELSEWHERE://127.0.0.1:1",
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,MUTUAL:SSL,ELSEWHERE:PLAINTEXT"
            ),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.location": str(self.certificates / "ca.pem"),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                + " ".join(f'user_{user}="{PASSWORD}"' for user in self.users)
                + ";"
            ),
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": believing,
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": login,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificates / "broker.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin;User:CN=admin",
        }

    def format_arguments(self) -> tuple[str, ...]:
        scram = (f"SCRAM-SHA-512=[name={user},password={PASSWORD}]" for user in self.users)
        return tuple(argument for user in scram for argument in ("--add-scram", user))

    def settings(self, user: str, **others: Any) -> dict[str, Any]:
        """Return the settings of a user."""
        return {
            "brokers": f"127.0.0.1:{self.secured_port}",
            "security_protocol": "SASL_SSL",
            "tls_ca_file": self.certificates / "ca.pem",
            "sasl_username": user,
            "sasl_password": PASSWORD,
            **others,
        }


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make ca.pem, broker.pem signed by it for 127.0.0.1, admin.pem with an encrypted admin.key, and other-ca.pem."""
    directory = tmp_path_factory.mktemp("certificates")

    def openssl(arguments: str) -> None:
        subprocess.run(["openssl", *arguments.split()], cwd=directory, check=True, capture_output=True)

    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"
    new = f"{key} -nodes"
    openssl(f"req -x509 {new} -subj /CN=ca -keyout ca.key -out ca.pem")
    openssl(f"req -x509 {new} -subj /CN=other -keyout other.key -out other-ca.pem")
    openssl(f"req {new} -subj /CN=broker -keyout broker.key -out broker.csr")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    openssl("x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out broker.crt")
    openssl(f"req {key} -passout pass:{PASSWORD} -subj /CN=admin -keyout admin.key -out admin.csr")
    openssl("x509 -req -in admin.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out admin.pem")
    parts = [(directory / name).read_text() for name in ("broker.key", "broker.crt", "ca.pem")]
    (directory / "broker.pem").write_text("".join(parts))
    return directory


@pytest.fixture(scope="module")
def secured(kafka: EmbeddedKafka, certificates: Path) -> Iterator[SecuredKafka]:
    """Start the guarded broker; the shared one is asked for first, for its rule of when to skip and when to fail."""
    with SecuredKafka(certificates) as broker:
        yield broker
