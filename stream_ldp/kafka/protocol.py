"""Those requests of Kafka that aiokafka lacks."""

from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    String,
    TaggedFields,
)

#: Bytes of the id of a topic.
_ID_BYTES = 16


class DeleteGroupsResponse(Response):  # type: ignore[misc]
    """The code of an error, or 0, for each group."""

    API_KEY = 42
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("results", Array(("group_id", String("utf-8")), ("error_code", Int16))),
    )


class _DeleteGroupsRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 42
    API_VERSION = 1
    RESPONSE_TYPE = DeleteGroupsResponse
    SCHEMA = Schema(("groups_names", Array(String("utf-8"))))


class DeleteGroups(Request[_DeleteGroupsRequest]):  # type: ignore[misc]
    """The request, for the coordinator of the groups."""

    API_KEY = 42

    def __init__(self, groups: list[str]) -> None:
        """Name the groups."""
        self._groups = groups

    def build(self, request_struct_class: type[_DeleteGroupsRequest]) -> _DeleteGroupsRequest:
        """Make the request of a version that the broker supports."""
        return request_struct_class(self._groups)


class DescribeOperationsResponse(Response):  # type: ignore[misc]
    """The metadata of topics, with a bit for each operation on them that the user may do."""

    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            Array(("node_id", Int32), ("host", String("utf-8")), ("port", Int32), ("rack", String("utf-8"))),
        ),
        ("cluster_id", String("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", String("utf-8")),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("operations", Int32),
            ),
        ),
        ("cluster_operations", Int32),
    )


class _DescribeOperationsRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = DescribeOperationsResponse
    SCHEMA = Schema(
        ("topics", Array(String("utf-8"))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_operations", Boolean),
        ("include_topic_operations", Boolean),
    )


class DescribeOperations(Request[_DescribeOperationsRequest]):  # type: ignore[misc]
    """The request for what the user may do with topics, which brokers answer since Kafka 2.3."""

    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        """Name the topics."""
        self._topics = topics

    def build(self, request_struct_class: type[_DescribeOperationsRequest]) -> _DescribeOperationsRequest:
        """Make the request of a version that the broker supports."""
        return request_struct_class(self._topics, False, False, True)


class _TopicId(Int32):  # type: ignore[misc]
    """The id of a topic, in hexadecimal."""

    @classmethod
    def encode(cls, value: str) -> bytes:
        return bytes.fromhex(value)

    @classmethod
    def decode(cls, data: Any) -> str:
        return bytes(data.read(_ID_BYTES)).hex()


class DescribeTopicsResponse(Response):  # type: ignore[misc]
    """The metadata of topics, with their ids."""

    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", CompactString("utf-8")),
                ("id", _TopicId),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_operations", Int32),
        ("tags", TaggedFields),
    )


class _DescribeTopicsRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = DescribeTopicsResponse
    SCHEMA = Schema(
        ("topics", CompactArray(("id", _TopicId), ("topic", CompactString("utf-8")), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_operations", Boolean),
        ("include_topic_operations", Boolean),
        ("tags", TaggedFields),
    )


class DescribeTopics(Request[_DescribeTopicsRequest]):  # type: ignore[misc]
    """The request for the ids and partitions of topics, which brokers answer since Kafka 2.8."""

    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        """Name the topics."""
        self._topics = topics

    def build(self, request_struct_class: type[_DescribeTopicsRequest]) -> _DescribeTopicsRequest:
        """Make the request of a version that the broker supports."""
        no_tags: dict[int, bytes] = {}
        topics = [("00" * _ID_BYTES, name, no_tags) for name in self._topics]
        return request_struct_class(topics, False, False, False, no_tags)
