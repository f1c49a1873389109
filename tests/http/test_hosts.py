"""Tests of the names by which a server may be called."""

import pytest

from stream_ldp.http.hosts import Hosts


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8443", "[::1]", "[::1]:1", "localhost", "LocalHost:80", "localhost.", "10.1.2.3:8080"],
)
def test_addresses_and_localhost_are_known_to_every_server(host: str) -> None:
    assert Hosts().accept(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8443",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1:1@evil.example",
        "2130706433",
        "[evil.example]",
        "a:b:c",
        "",
    ],
)
def test_a_name_that_anybody_may_own_is_unknown(host: str) -> None:
    assert not Hosts.of("reports.example, page.example").accept(host)


def test_names_are_known_that_a_setting_has_on_any_port_and_in_any_case() -> None:
    hosts = Hosts.of(" Reports.example,page.example, ")
    assert all(map(hosts.accept, ("reports.example", "REPORTS.example:8443", "page.example.")))
    assert not hosts.accept("a.page.example")
    assert Hosts.of("*").accept("any.example")
