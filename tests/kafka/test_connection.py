"""Tests of the reasons why a broker cannot be reached, on a real one with TLS, passwords and access rules."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.kafka import connection
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.connection import AccessRefused, BrokerUnreachable, check_connection
from stream_ldp.kafka.embedded import EmbeddedKafka, EmbeddedMock
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.preflight import preflight
from tests.kafka.secured import PASSWORD, SecuredKafka, token

COLLECTION = JointCollection.parse(
    """
collection: care
mechanism: {kind: rr-ldp, f: 0.5}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 60s}
estimates: [{name: bathing, of: [bathing]}]
"""
)


@pytest.fixture
def admitted(kafka: SecuredKafka) -> dict[str, Any]:
    """Return the settings of the administrator."""
    return kafka.settings("admin")


async def _refused(**flags: Any) -> str:
    with pytest.raises(BrokerUnreachable) as refused:
        await check_connection(Settings.load(**flags))
    return str(refused.value).partition(": ")[2]


async def test_topics_can_be_set_up_and_checked_over_tls_with_a_password(
    admitted: dict[str, Any], prefix: str
) -> None:
    settings = Settings.load(**admitted, topic_prefix=prefix)
    specs = topic_specs([COLLECTION], prefix=prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    await register(settings, [Registration.of(COLLECTION)])
    assert await preflight(settings, {"care.yaml": COLLECTION}) == {spec.name: spec.partitions for spec in specs}


async def test_a_client_is_known_by_a_certificate_whose_key_is_encrypted(kafka: SecuredKafka, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    trusting = {
        "brokers": f"127.0.0.1:{kafka.mutual_port}",
        "security_protocol": "SSL",
        "tls_ca_file": kafka.certificates / "ca.pem",
    }
    own = {"tls_cert_file": kafka.certificates / "admin.pem", "tls_key_file": kafka.certificates / "admin.key"}
    settings = Settings.load(**trusting, **own, tls_key_password_file=file)
    await check_connection(settings)
    async with Cluster.connect(settings) as cluster:
        # Nobody but the administrator may see it.
        assert await cluster.topics(["nothing"]) == {}
    with pytest.raises(BrokerUnreachable):
        await check_connection(Settings.load(**trusting))


@pytest.mark.parametrize("wrong", [{"sasl_password": "falsch"}, {"sasl_username": "nobody"}])
async def test_a_wrong_password_or_an_unknown_user_is_named_as_the_cause(
    admitted: dict[str, Any], wrong: dict[str, str]
) -> None:
    flags = {**admitted, **wrong}
    assert await _refused(**flags) == (
        f"authentication failed: wrong user or password for user '{flags['sasl_username']}' with SCRAM-SHA-512"
    )


async def test_what_waiting_does_not_cure_is_distinguished_from_an_outage(
    admitted: dict[str, Any], kafka: SecuredKafka
) -> None:
    for wrong in (
        {"sasl_password": "falsch"},
        {"sasl_mechanism": "SCRAM-SHA-256"},
        {"tls_ca_file": kafka.certificates / "other-ca.pem"},
    ):
        with pytest.raises(AccessRefused):
            await check_connection(Settings.load(**{**admitted, **wrong}))
    with pytest.raises(BrokerUnreachable) as closed:
        await check_connection(Settings.load(**{**admitted, "brokers": "127.0.0.1:1"}))
    assert not isinstance(closed.value, AccessRefused)


async def test_topics_can_be_set_up_over_tls_with_a_token(
    admitted: dict[str, Any], prefix: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(token("admin"))
    flags = {name: value for name, value in admitted.items() if not name.startswith("sasl")}
    flags |= {"sasl_mechanism": "OAUTHBEARER", "sasl_token_file": file}
    settings = Settings.load(**flags, topic_prefix=prefix)
    specs = topic_specs([COLLECTION], prefix=prefix, partials_partitions=4)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    file.write_text(token("admin", expired=True))
    assert await _refused(**flags) == f"it rejects the token in {file}, or is still starting"


async def test_a_sasl_mechanism_the_broker_rejects_is_named_with_the_alternatives(admitted: dict[str, Any]) -> None:
    problem = await _refused(**admitted, sasl_mechanism="SCRAM-SHA-256")
    assert problem == "the broker rejects sasl_mechanism SCRAM-SHA-256; try PLAIN or SCRAM-SHA-512"


def _open_sockets() -> set[str]:
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # The one that lists them.
            links.append(str(descriptor.readlink()))
    return {link for link in links if link.startswith("socket:")}


@pytest.mark.parametrize("wrong", [{"sasl_mechanism": "SCRAM-SHA-256"}, {"sasl_password": "falsch"}])
async def test_a_refused_connection_is_closed_before_the_refusal_is_reported(
    admitted: dict[str, Any], wrong: dict[str, str]
) -> None:
    before = _open_sockets()
    await _refused(**{**admitted, **wrong})
    assert _open_sockets() <= before


async def test_an_untrusted_broker_certificate_is_named_with_the_authorities_in_use(
    admitted: dict[str, Any], kafka: SecuredKafka
) -> None:
    other = kafka.certificates / "other-ca.pem"
    problem = await _refused(**{**admitted, "tls_ca_file": other})
    assert problem.startswith("TLS: the broker's certificate is not trusted: ")
    assert problem.endswith(f"tls_ca_file is {other}")
    without = {name: value for name, value in admitted.items() if name != "tls_ca_file"}
    assert (await _refused(**without)).endswith("not set, so the authorities of the system are trusted")


async def test_a_certificate_for_another_host_is_not_trusted(admitted: dict[str, Any]) -> None:
    problem = await _refused(**{**admitted, "brokers": admitted["brokers"].replace("127.0.0.1", "localhost")})
    assert "not trusted: Hostname mismatch" in problem


async def test_tls_on_a_plaintext_port_is_reported_at_once(admitted: dict[str, Any], kafka: SecuredKafka) -> None:
    flags = {**admitted, "brokers": kafka.bootstrap}
    assert await _refused(**flags) == "this port is for plaintext, and security_protocol is SASL_SSL"
    with pytest.raises(AccessRefused):
        await check_connection(Settings.load(**flags))


async def test_plaintext_on_a_tls_port_is_reported_at_once(admitted: dict[str, Any]) -> None:
    problem = await _refused(brokers=admitted["brokers"])
    assert problem == (
        "this port is for TLS, and security_protocol is PLAINTEXT: use SSL, or SASL_SSL with a password"
    )
    with pytest.raises(AccessRefused):
        await check_connection(Settings.load(brokers=admitted["brokers"]))


async def test_a_port_that_closes_every_connection_is_waited_for() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BrokerUnreachable, match="does this port want TLS or a password") as refused:
            await check_connection(Settings.load(brokers=f"127.0.0.1:{port}"))
    assert not isinstance(refused.value, AccessRefused)


async def test_a_missing_password_on_a_tls_port_is_suspected(admitted: dict[str, Any]) -> None:
    only_tls = {name: value for name, value in admitted.items() if not name.startswith("sasl")}
    problem = await _refused(**{**only_tls, "security_protocol": "SSL"})
    assert problem == (
        "the broker closed the connection: is this port for plaintext, or does it want a password too? "
        "security_protocol is SSL"
    )


async def test_a_password_on_a_port_that_takes_none_is_named_as_the_cause(kafka: SecuredKafka) -> None:
    problem = await _refused(
        brokers=kafka.bootstrap, security_protocol="SASL_PLAINTEXT", sasl_username="admin", sasl_password="geheim"
    )
    assert problem == "this port accepts no passwords, so security_protocol SASL_PLAINTEXT does not fit it"


async def test_a_user_without_access_is_reported_what_to_ask_for(admitted: dict[str, Any], prefix: str) -> None:
    settings = Settings.load(**{**admitted, "sasl_username": "guest"}, topic_prefix=prefix)
    with pytest.raises(ClusterError, match=r"topic .*: this user needs an access rule that allows Describe on it"):
        await preflight(settings, {"care.yaml": COLLECTION})


async def test_every_broker_that_cannot_be_reached_is_listed_with_its_cause() -> None:
    with pytest.raises(BrokerUnreachable) as refused:
        await check_connection(Settings.load(brokers="127.0.0.1:1, nowhere.invalid:9092"))
    assert str(refused.value) == (
        "127.0.0.1:1: connection refused: no broker listens on this port\n"
        "nowhere.invalid:9092: there is no host with this name"
    )


async def test_one_reachable_broker_is_enough(kafka: EmbeddedKafka) -> None:
    await check_connection(Settings.load(brokers=f"127.0.0.1:1,{kafka.bootstrap}"))


async def test_brokers_of_two_clusters_are_refused_by_their_ids(
    kafka: EmbeddedKafka,
) -> None:
    with EmbeddedMock() as elsewhere:
        both = Settings.load(brokers=f"127.0.0.1:1,{kafka.bootstrap},{elsewhere.bootstrap}")
        with pytest.raises(AccessRefused) as refused:
            await check_connection(both)
        assert re.fullmatch(
            f"the brokers are not those of one cluster: {kafka.bootstrap} is of cluster c3RyZWFtLWxkcC1sb2NhbA and "
            rf"{elsewhere.bootstrap} is of cluster mockCluster\w+; name those of one \(--brokers\)",
            str(refused.value),
        )
        with pytest.raises(AccessRefused):
            async with Cluster.connect(both):
                pass
    await check_connection(both)


async def test_a_broker_that_says_nothing_is_not_waited_for_when_another_answers(
    kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "OTHERS_SECONDS", 0.1)

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server, asyncio.timeout(20):
        port = server.sockets[0].getsockname()[1]
        await check_connection(Settings.load(brokers=f"127.0.0.1:{port},{kafka.bootstrap}"), timeout_seconds=3_600)


async def test_a_silent_server_is_given_up_on_after_the_timeout() -> None:
    hung_up = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BrokerUnreachable, match="no answer within 0 s"):
            await check_connection(Settings.load(brokers=f"127.0.0.1:{port}"), timeout_seconds=0.1)
        await hung_up.wait()


async def test_a_broker_that_sends_its_clients_to_a_dead_address_is_named_with_it(kafka: SecuredKafka) -> None:
    misled = f"127.0.0.1:{kafka.misleading_port}"
    with pytest.raises(BrokerUnreachable) as refused:
        await check_connection(Settings.load(brokers=misled))
    assert str(refused.value) == (
        f"{misled} answers, but directs clients to 127.0.0.1:1 (its advertised.listeners), which failed:\n"
        "127.0.0.1:1: connection refused: no broker listens on this port"
    )
