"""Check the connection to the brokers and explain failures, which aiokafka's own exception does not."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from stream_ldp.kafka.security import SaslMechanism, SecurityProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stream_ldp.kafka.settings import Settings

#: Seconds for each broker: long enough for a handshake across an ocean, short enough for an operator to wait.
TIMEOUT_SECONDS = 5.0
#: Seconds that the other addresses have once one has answered: all are asked at once, and a broker that is there
#: takes about as long as another. One that is frozen would otherwise make every command wait for TIMEOUT_SECONDS.
OTHERS_SECONDS = 2.0
#: Seconds to wait for the broker's part in closing a TLS connection; a broker that is there needs milliseconds.
CLOSE_SECONDS = 5.0


class BrokerUnreachable(StreamLDPError, RuntimeError):
    """No broker could be reached; the message says of each why, and what to change."""


class AccessRefused(BrokerUnreachable):
    """What answers is of no use to us, for a reason that does not pass with time: a password, another cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerReply:
    """What a broker says of its cluster.

    cluster: the cluster's id; None if the broker does not say.
    brokers: the addresses that brokers advertise, host:port each.
    """

    cluster: str | None
    brokers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    """Why an address does not answer, and whether it is a refusal."""

    why: str
    refused: bool


class Connection:
    """A connection to one broker, made as clients make theirs."""

    def __init__(self, address: str, options: Mapping[str, Any]) -> None:
        """Prepare for an address, host:port.

        options: see `Settings.connection_options`.
        """
        host, _, port = address.rpartition(":")
        # Not by create_conn, which would leave a refused connection open until it is garbage-collected.
        self._connection = AIOKafkaConnection(host.strip("[]"), int(port), **options)
        self._reached = False

    async def open(self) -> None:
        """Connect and authenticate."""
        self._reached = True
        try:
            await self._connection.connect()
        except OSError:  # No connection was made, so there is none to be closed.
            self._reached = False
            raise

    async def ask(self) -> BrokerReply:
        """Ask for the cluster; it is a request that only those with access can make."""
        # A broker that wants a password still shows anyone its versions.
        metadata = await self._connection.send(MetadataRequest([]))
        # Brokers before Kafka 0.10.1 do not give the id.
        return BrokerReply(
            cluster=getattr(metadata, "cluster_id", None),
            brokers=tuple(f"{broker[1]}:{broker[2]}" for broker in metadata.brokers),
        )

    async def close(self) -> None:
        """Disconnect; may be called twice, or after a failure."""
        closing = self._connection.close()
        # A client that the broker refused has a socket too, which aiokafka only begins to close.
        if self._reached and closing is not None:
            await asyncio.wait([closing], timeout=CLOSE_SECONDS)


#: What a connection fails with, and what damaged answers lead to in aiokafka, by reading.
UNREACHABLE = (
    *(OSError, EOFError, KafkaError),
    *(ArithmeticError, AssertionError, LookupError, TypeError, ValueError, struct.error),
)

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

    This is done first at all of the given addresses, and then at one of those that the brokers advertise, which
    clients use next. An address that does not answer is no failure while another one does.

    timeout_seconds: the most seconds for each address.

    Raises:
        AccessRefused: all that answers refuses us, or the addresses are those of several clusters.
        BrokerUnreachable: no given or no advertised address answers.
        SettingsError: a TLS file cannot be used.
    """
    if CONNECTED.get() is not None:
        return
    answers = await _answers(settings, timeout_seconds)
    _require_one_cluster({address: answer.cluster for address, answer in answers.items()})
    advertised = next((answer.brokers for answer in answers.values() if answer.brokers), ())
    if not advertised:
        # aiokafka takes the answer to a token for a yes, whatever it is; a broker that said no then shows nothing.
        token = settings.sasl_token_file
        why = "it is still starting" if token is None else f"it rejects the token in {token}, or is still starting"
        raise BrokerUnreachable(f"{settings.brokers} answers, but shows no broker: {why}")
    failures: dict[str, _Failure] = {}
    for address in advertised:
        if await _ask(address, settings, timeout_seconds, failures=failures) is not None:
            return
    error = _unreachable(failures)
    raise type(error)(
        f"{settings.brokers} answers, but directs clients to {', '.join(advertised)} "
        f"(its advertised.listeners), which failed:\n{error}"
    ) from error


def _require_one_cluster(clusters: dict[str, str | None]) -> None:
    """Require that brokers are those of one cluster: the parts of a process choose among their addresses at random.

    clusters: the id of the cluster of each address; None where it is unknown.

    Raises:
        AccessRefused: they are not.
    """
    by_id = {cluster: address for address, cluster in reversed(clusters.items()) if cluster is not None}
    if len(by_id) > 1:
        what = " and ".join(f"{address} is of cluster {cluster}" for cluster, address in reversed(by_id.items()))
        raise AccessRefused(f"the brokers are not those of one cluster: {what}; name those of one (--brokers)")


async def _answers(settings: Settings, timeout_seconds: float) -> dict[str, BrokerReply]:
    """Ask all given addresses at once, and return the answers, in the order of the addresses."""
    addresses = list(dict.fromkeys(settings.broker_addresses))
    failures: dict[str, _Failure] = {}
    asking = [
        asyncio.create_task(_ask(address, settings, timeout_seconds, failures=failures)) for address in addresses
    ]
    try:
        for found in asyncio.as_completed(asking):
            if await found is not None:
                await asyncio.wait(asking, timeout=OTHERS_SECONDS)
                break
        results = {address: task.result() for address, task in zip(addresses, asking, strict=True) if task.done()}
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    answers = {address: found for address, found in results.items() if found is not None}
    if not answers:
        raise _unreachable({address: failures[address] for address in results})
    return answers


def _unreachable(failures: Mapping[str, _Failure]) -> BrokerUnreachable:
    refused = all(failure.refused for failure in failures.values())
    return (AccessRefused if refused else BrokerUnreachable)(
        "\n".join(f"{address}: {failure.why}" for address, failure in failures.items())
    )


async def _ask(
    address: str, settings: Settings, timeout_seconds: float, *, failures: dict[str, _Failure]
) -> BrokerReply | None:
    """Ask one address for its cluster; one that does not answer has its place among the failures."""
    try:
        async with asyncio.timeout(timeout_seconds):
            return await ask(address, settings.connection_options())
    except UNREACHABLE as error:
        mismatch = await _mismatch(address, settings, timeout_seconds) if _closed(error) else None
        failures[address] = _Failure(
            why=mismatch or explain(error, settings, timeout_seconds),
            refused=mismatch is not None or any(isinstance(cause, _REFUSALS) for cause in _causes(error)),
        )
        return None


async def _mismatch(address: str, settings: Settings, timeout_seconds: float) -> str | None:
    """Find out whether a port that closes our connections takes those of the other protocol; None if it does not.

    A broker that is starting, or a proxy without one, closes connections too: that passes, and is waited for.
    """
    protocol = settings.security_protocol
    try:
        async with asyncio.timeout(timeout_seconds):
            if protocol.encrypted:
                plain = settings.model_copy(update={"security_protocol": SecurityProtocol.PLAINTEXT})
                connection = Connection(address, plain.connection_options())
                try:
                    # It shows everybody its versions, which is all that is asked for here.
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


async def ask(address: str, options: Mapping[str, Any]) -> BrokerReply:
    """Ask one address for its cluster, by a connection of its own.

    options: see `Settings.connection_options`.

    Raises:
        OSError, EOFError, KafkaError and others: it gives no answer that makes sense; these are UNREACHABLE.
    """
    connection = Connection(address, options)
    try:
        await connection.open()
        return await connection.ask()
    finally:
        await connection.close()


def passes_by_itself(error: BaseException) -> bool:
    """Decide whether nobody is there, or nobody in time, and so nobody who refuses us."""
    return any(isinstance(cause, TimeoutError | ConnectionRefusedError | socket.gaierror) for cause in _causes(error))


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
                why = _TLS_REASONS.get(cause.reason, cause.reason or str(cause))
                return f"TLS: {why}; security_protocol is {protocol}"
            case socket.gaierror():
                return "there is no host with this name"
            case ConnectionRefusedError():
                return "connection refused: no broker listens on this port"
            case TimeoutError():
                return f"no answer within {timeout_seconds:.0f} s"
    if _closed(error):
        return f"the broker closed the connection: {_OTHER_PROTOCOLS[protocol]} security_protocol is {protocol}"
    return str(error) or repr(error)


#: What OpenSSL's commonest reasons mean here.
_TLS_REASONS = {
    "WRONG_VERSION_NUMBER": "what answers here speaks no TLS",
    "RECORD_LAYER_FAILURE": "what answers here speaks no TLS",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the broker wants a certificate of this client: set tls_cert_file",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the broker agrees to none of this client's versions, ciphers or certificates",
}


def _closed(error: BaseException) -> bool:
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
