"""This module has Kafka's request to delete consumer groups, which aiokafka lacks."""

from __future__ import annotations

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int16, Int32, Schema, String

__all__ = ["DeleteGroups"]


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
