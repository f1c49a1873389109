"""These tests show which ports are found free, and on which somebody listens."""

from __future__ import annotations

import socket

from stream_ldp.kafka.embedded.ports import accepts, free_ports


def test_free_ports_are_different_and_can_be_listened_on() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_accepts_while_somebody_listens_on_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert accepts(port)
    assert not accepts(port)
