"""Tests of whom a server believes for whom it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.http.proxies import MAX_HOPS, Proxies

PROXIES = Proxies.of("10.0.0.0/8, 2001:db8:1::/48,192.0.2.1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("2001:db8:1::1", [" 2001:db8:2::7 "], "2001:db8:2::7"),
        ("10.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
        ("10.0.0.1", ["[2001:db8:2::7]:4711"], "2001:db8:2::7"),
        # Through several proxies, in one header or in several.
        ("10.0.0.1", ["203.0.113.7, 192.0.2.1,10.9.9.9"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7", "192.0.2.1"], "203.0.113.7"),
        # What a client has written itself, before the proxy added its address.
        ("10.0.0.1", ["198.51.100.9, 203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["10.0.0.2, 203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["unknown, 203.0.113.7"], "203.0.113.7"),
        # Where a proxy names nobody, or what is no address, the request is its own.
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, 10.0.0.2, ??, 10.0.0.3"], "10.0.0.3"),
        ("10.0.0.1", ["10.0.0.2"], "10.0.0.2"),
        (None, ["203.0.113.7"], None),
    ],
)
def test_a_client_is_the_last_address_that_is_no_trusted_proxy(
    peer: str | None, forwarded: list[str], client: str | None
) -> None:
    assert PROXIES.client(peer, forwarded) == client


@given(
    peer=st.ip_addresses().map(str).filter(lambda each: not PROXIES.trust(each)),
    forwarded=st.lists(st.text() | st.ip_addresses().map(str)),
)
def test_what_others_than_proxies_say_has_no_effect(peer: str, forwarded: list[str]) -> None:
    assert PROXIES.client(peer, forwarded) == peer
    assert Proxies().client("10.0.0.1", forwarded) == "10.0.0.1"


@given(
    client=st.ip_addresses(v=4).map(str).filter(lambda each: not PROXIES.trust(each)),
    said=st.lists(st.text() | st.ip_addresses().map(str)),
)
def test_a_client_of_a_proxy_is_who_it_is_whatever_it_says(client: str, said: list[str]) -> None:
    assert PROXIES.client("10.0.0.1", [*said, client]) == client
    assert PROXIES.client("10.0.0.1", [", ".join([*said, client])]) == client


def test_of_a_header_without_an_end_so_much_is_read_as_proxies_stand_in_a_row() -> None:
    for hops, client in ((MAX_HOPS, "10.0.0.2"), (MAX_HOPS - 1, "203.0.113.7")):
        forwarded = ["203.0.113.7", *["10.0.0.2"] * hops]
        assert PROXIES.client("10.0.0.1", forwarded) == PROXIES.client("10.0.0.1", [", ".join(forwarded)]) == client
