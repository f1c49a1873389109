"""This module has those requests of Kafka that aiokafka lacks."""

from __future__ import annotations

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

__all__ = ["DeleteGroups", "DescribeOperations"]


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
        """Make the request of a version that the broker knows."""
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
        """Make the request of a version that the broker knows."""
        return request_struct_class(self._topics, False, False, True)
