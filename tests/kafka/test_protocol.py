"""Requests in bytes; test_offsets.py and test_cluster.py send them to a broker."""

import io

from stream_ldp.kafka.protocol import (
    DeleteGroups,
    DeleteGroupsResponse,
    DescribeTopics,
    DescribeTopicsResponse,
    _DeleteGroupsRequest,
    _DescribeTopicsRequest,
)


def test_the_request_to_delete_groups_and_its_response_are_those_of_the_protocol() -> None:
    request = DeleteGroups(["a.b"]).build(_DeleteGroupsRequest)
    assert request.encode() == b"\x00\x00\x00\x01\x00\x03a.b"
    response = DeleteGroupsResponse.decode(io.BytesIO(b"\x00\x00\x00\x07\x00\x00\x00\x01\x00\x03a.b\x00\x44"))
    assert (response.throttle_time_ms, response.results) == (7, [("a.b", 68)])


def test_the_request_for_topics_and_its_response_are_those_of_the_protocol() -> None:
    request = DescribeTopics(["a.b"]).build(_DescribeTopicsRequest)
    assert request.encode() == b"\x02" + bytes(16) + b"\x04a.b\x00" + b"\x00\x00\x00\x00"
    partition = b"\x00\x00" + bytes(8) + b"\x00\x00\x00\x05" + b"\x02\x00\x00\x00\x01" * 2 + b"\x01\x00"
    topic = b"\x00\x00\x04a.b" + b"\xab" * 16 + b"\x00\x03" + 2 * partition + b"\x80\x00\x00\x00\x00"
    response = DescribeTopicsResponse.decode(
        io.BytesIO(bytes(4) + b"\x01\x00" + bytes(4) + b"\x02" + topic + b"\x80\x00\x00\x00\x00")
    )
    ((code, name, topic_id, _, partitions, *_),) = response.topics
    assert (code, name, topic_id, len(partitions)) == (0, "a.b", "ab" * 16, 2)
