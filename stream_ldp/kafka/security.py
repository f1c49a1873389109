"""How clients and brokers protect a connection, and how clients prove who they are."""

from __future__ import annotations

from enum import StrEnum


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
