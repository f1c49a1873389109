"""Tests of which addresses count as one client."""

import pytest

from stream_ldp.http.network import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.8", "192.0.2.8"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        (None, ""),
    ],
)
def test_an_ipv6_customer_is_one_client_and_so_is_an_ipv4_address(address: str | None, network: str) -> None:
    assert network_of(address) == network
