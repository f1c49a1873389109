"""How clients and brokers protect a connection, how clients prove who they are, and what no log may show of it."""

import logging
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
