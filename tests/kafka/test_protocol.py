"""Requests in bytes; test_offsets.py and test_cluster.py send them to a broker."""

from __future__ import annotations

import io

from stream_ldp.kafka.protocol import DeleteGroups, DeleteGroupsResponse, _DeleteGroupsRequest


def test_the_request_to_delete_groups_and_its_response_are_those_of_the_protocol() -> None:
    request = DeleteGroups(["a.b"]).build(_DeleteGroupsRequest)
    assert request.encode() == b"\x00\x00\x00\x01\x00\x03a.b"
    response = DeleteGroupsResponse.decode(io.BytesIO(b"\x00\x00\x00\x07\x00\x00\x00\x01\x00\x03a.b\x00\x44"))
    assert (response.throttle_time_ms, response.results) == (7, [("a.b", 68)])
