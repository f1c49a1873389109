"""A broker with TLS, passwords, tokens and access rules, and what its clients need."""

import base64
import json
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from stream_ldp.kafka.access import Role
from stream_ldp.kafka.embedded import EmbeddedKafka, MissingTool
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX

#: Those who have a password.
USERS = ("admin", "guest", *Role)

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

    On its first port, nobody says who it is, and everybody may do everything. Of the others, one is for TLS and
    passwords, one for TLS and certificates of clients. The last sends its clients to a port where nobody listens, as
    a broker behind a wrong port mapping does.
    """

    def __init__(
        self, certificates: Path, *, data: Path | None = None, ports: tuple[int, int, int, int] | None = None
    ) -> None:
        """Choose the ports.

        certificates: a folder that `certify` has filled.
        data, ports: those of a broker that another process runs.
        """
        super().__init__(data=data)
        self.certificates = certificates
        self.ports = ports or (self.port, *(EmbeddedKafka().port for _ in range(3)))
        self.port, self.secured_port, self.mutual_port, self.misleading_port = self.ports

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
                + " ".join(f'user_{user}="{PASSWORD}"' for user in USERS)
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
        scram = (f"SCRAM-SHA-512=[name={user},password={PASSWORD}]" for user in USERS)
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

    def environment(self) -> dict[str, str]:
        """Return variables of the administrator's settings, whose files change with what they prove."""
        self.password_file.write_text(PASSWORD)
        self.authority_file.write_text((self.certificates / "ca.pem").read_text())
        given = self.settings("admin", sasl_password_file=self.password_file, tls_ca_file=self.authority_file)
        del given["sasl_password"]
        return {f"{ENVIRONMENT_PREFIX}{name.upper()}": str(value) for name, value in given.items()}

    @property
    def password_file(self) -> Path:
        """The file of the administrator's password."""
        return self.certificates / "password"

    @property
    def authority_file(self) -> Path:
        """The file of the authorities that the administrator trusts."""
        return self.certificates / "authorities.pem"

    def change_password(self) -> None:
        """Give the administrator another password, which the file has too; connections that are there go on."""
        other = f"not-{PASSWORD}"
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4_096)
        administrator = AdminClient({"bootstrap.servers": self.bootstrap})
        changed = administrator.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("admin", info, other.encode())]
        )
        changed["admin"].result(30)
        self.password_file.write_text(other)

    def change_authority(self) -> None:
        """Certify the broker, from its next start on, by another authority, which the administrator trusts too."""
        authority = "-CA other-ca.pem -CAkey other.key -CAcreateserial -extfile names"
        openssl(f"x509 -req -in broker.csr {authority} -out broker.crt", directory=self.certificates)
        join(self.certificates, "broker.key", "broker.crt", "other-ca.pem")
        self.authority_file.write_text(
            self.authority_file.read_text() + (self.certificates / "other-ca.pem").read_text()
        )


def openssl(arguments: str, *, directory: Path) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=directory, check=True, capture_output=True)


def join(directory: Path, *parts: str) -> None:
    """Write the broker's certificate, of these files."""
    (directory / "broker.pem").write_text("".join((directory / each).read_text() for each in parts))


def certify(directory: Path) -> Path:
    """Make ca.pem, broker.pem signed by it for 127.0.0.1, admin.pem with an encrypted admin.key, and other-ca.pem.

    Raises:
        MissingTool: there is no openssl.
    """
    if shutil.which("openssl") is None:
        raise MissingTool("the broker of the tests needs certificates, which openssl makes: install openssl")
    make = partial(openssl, directory=directory)
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"
    new = f"{key} -nodes"
    make(f"req -x509 {new} -subj /CN=ca -keyout ca.key -out ca.pem")
    make(f"req -x509 {new} -subj /CN=other -keyout other.key -out other-ca.pem")
    make(f"req {new} -subj /CN=broker -keyout broker.key -out broker.csr")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    make("x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out broker.crt")
    make(f"req {key} -passout pass:{PASSWORD} -subj /CN=admin -keyout admin.key -out admin.csr")
    make("x509 -req -in admin.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out admin.pem")
    join(directory, "broker.key", "broker.crt", "ca.pem")
    return directory
