"""This module checks the connection to the brokers and explains failures, which aiokafka's own exception does not."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    IllegalSaslStateError,
    IncompatibleBrokerVersion,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.memory import CONNECTED
from stream_ldp.kafka.settings import SaslMechanism, SecurityProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_ldp.kafka.settings import Settings

__all__ = ["UNREACHABLE", "AccessRefused", "BrokerUnreachable", "Connection", "check_connection", "explain"]

#: Seconds for each broker: long enough for a handshake across an ocean, short enough for an operator to wait.
TIMEOUT_SECONDS = 5.0
#: Seconds to wait for the broker's part in closing a TLS connection; a broker that is there needs milliseconds.
CLOSE_SECONDS = 5.0


class BrokerUnreachable(StreamLDPError, RuntimeError):
    """No broker could be reached; the message says of each why, and what to change."""


class AccessRefused(BrokerUnreachable):
    """All that answers does not let us in, for a reason that does not pass with time: a password, a certificate."""


class Connection:
    """A connection to one broker, made as clients make theirs."""

    def __init__(self, address: str, settings: Settings) -> None:
        """Prepare for an address, host:port."""
        host, _, port = address.rpartition(":")
        # Not by create_conn, which would leave a refused connection open until it is garbage-collected.
        self._connection = AIOKafkaConnection(host.strip("[]"), int(port), **settings.connection_options())
        self._reached = False

    async def open(self) -> None:
        """Connect and authenticate."""
        self._reached = True
        try:
            await self._connection.connect()
        except OSError:  # No connection was made, so there is none to be closed.
            self._reached = False
            raise

    async def brokers(self) -> list[str]:
        """Ask for the addresses that the brokers advertise; it is a request that only those with access can make."""
        # A broker that wants a password still tells anyone its versions.
        metadata = await self._connection.send(MetadataRequest([]))
        return [f"{broker[1]}:{broker[2]}" for broker in metadata.brokers]

    async def close(self) -> None:
        """Disconnect; may be called twice, or after a failure."""
        closing = self._connection.close()
        # Whoever was refused by the broker has a socket too, which aiokafka only begins to close.
        if self._reached and closing is not None:
            await asyncio.wait([closing], timeout=CLOSE_SECONDS)


#: What a connection fails with.
UNREACHABLE = (OSError, EOFError, KafkaError)

#: Causes that waiting does not cure.
_REFUSALS = (
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
    IllegalSaslStateError,
    IncompatibleBrokerVersion,
    ssl.SSLError,
)


async def check_connection(settings: Settings, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Connect, authenticate and ask for metadata as a client would.

    This is done first at the given addresses and then at those that the brokers advertise, which clients use next.

    timeout_seconds: the most seconds for each address.

    Raises:
        AccessRefused: all that answers refuses us.
        BrokerUnreachable: no given address answers, or none of the advertised ones.
        SettingsError: a TLS file cannot be used.
    """
    if CONNECTED.get() is not None:
        return
    advertised = await _first_answer(settings.broker_addresses, settings, timeout_seconds)
    if not advertised:
        # aiokafka takes the answer to a token for a yes, whatever it is; a broker that said no then shows nothing.
        token = settings.sasl_token_file
        why = "it is still starting" if token is None else f"it rejects the token in {token}, or is still starting"
        raise BrokerUnreachable(f"{settings.brokers} answers, but shows no broker: {why}")
    try:
        await _first_answer(advertised, settings, timeout_seconds)
    except BrokerUnreachable as error:
        raise type(error)(
            f"{settings.brokers} answers, but tells clients to connect to {', '.join(advertised)} "
            f"(its advertised.listeners), which failed:\n{error}"
        ) from error


async def _first_answer(addresses: list[str], settings: Settings, timeout_seconds: float) -> list[str]:
    """Return the brokers' advertised addresses, from the first address that answers."""
    problems, refused = [], []
    for address in addresses:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await _ask(address, settings)
        except UNREACHABLE as error:
            mismatch = await _mismatch(address, settings, timeout_seconds) if _closed(error) else None
            problems.append(f"{address}: {mismatch or explain(error, settings, timeout_seconds)}")
            refused.append(mismatch is not None or any(isinstance(cause, _REFUSALS) for cause in _causes(error)))
    raise (AccessRefused if all(refused) else BrokerUnreachable)("\n".join(problems))


async def _mismatch(address: str, settings: Settings, timeout_seconds: float) -> str | None:
    """Find out whether a port that closes our connections takes those of the other protocol; None if it does not.

    A broker that is starting, or a proxy without one, closes connections too: that passes, and is waited for.
    """
    protocol = settings.security_protocol
    try:
        async with asyncio.timeout(timeout_seconds):
            if protocol.encrypted:
                plain = settings.model_copy(update={"security_protocol": SecurityProtocol.PLAINTEXT})
                connection = Connection(address, plain)
                try:
                    # It tells everybody its versions, which is all that is asked for here.
                    await connection.open()
                finally:
                    await connection.close()
                return f"this port is for plaintext, and security_protocol is {protocol}"
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # Nothing is sent.
            host, _, port = address.rpartition(":")
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=context)
            writer.transport.abort()
            return f"this port is for TLS, and security_protocol is {protocol}: use SSL, or SASL_SSL with a password"
    except UNREACHABLE:
        return None


async def _ask(address: str, settings: Settings) -> list[str]:
    connection = Connection(address, settings)
    try:
        await connection.open()
        return await connection.brokers()
    finally:
        await connection.close()


def explain(error: BaseException, settings: Settings, timeout_seconds: float) -> str:
    """Say why a broker could not be reached, and what to change."""
    causes = tuple(_causes(error))
    protocol = settings.security_protocol
    for cause in causes:
        match cause:
            case SaslAuthenticationFailed():
                return (
                    f"authentication failed: wrong user or password for user {settings.sasl_username!r} "
                    f"with {settings.sasl_mechanism}"
                )
            case UnsupportedSaslMechanismError():
                others = [
                    each for each in SaslMechanism if each not in {settings.sasl_mechanism, SaslMechanism.OAUTHBEARER}
                ]
                return f"the broker rejects sasl_mechanism {settings.sasl_mechanism}; try {' or '.join(others)}"
            case IllegalSaslStateError():
                return f"this port accepts no passwords, so security_protocol {protocol} does not fit it"
            case IncompatibleBrokerVersion():
                return "what answers here is not a Kafka broker (a controller, perhaps)"
            case ssl.SSLCertVerificationError():
                return (
                    f"TLS: the broker's certificate is not trusted: {cause.verify_message}; tls_ca_file is "
                    f"{settings.tls_ca_file or 'not set, so the authorities of the system are trusted'}"
                )
            case ssl.SSLError():
                return f"TLS: {cause.reason or cause}; security_protocol is {protocol}"
            case socket.gaierror():
                return "there is no host with this name"
            case ConnectionRefusedError():
                return "connection refused: no broker listens on this port"
            case TimeoutError():
                return f"no answer within {timeout_seconds:.0f} s"
    if _closed(error):
        return f"the broker closed the connection: {_OTHER_PROTOCOLS[protocol]} security_protocol is {protocol}"
    return str(error) or repr(error)


def _closed(error: BaseException) -> bool:
    """Decide whether the broker closed the connection, whatever for."""
    return any(isinstance(cause, ConnectionResetError | EOFError) for cause in _causes(error))


_OTHER_PROTOCOLS = {
    SecurityProtocol.PLAINTEXT: "does this port want TLS or a password?",
    SecurityProtocol.SSL: "is this port for plaintext, or does it want a password too?",
    SecurityProtocol.SASL_PLAINTEXT: "does this port want TLS?",
    SecurityProtocol.SASL_SSL: "is this port for plaintext?",
}


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
