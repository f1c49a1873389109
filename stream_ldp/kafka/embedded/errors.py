"""This module holds the errors of an embedded broker."""

from __future__ import annotations

from stream_ldp.errors import StreamLDPError

__all__ = ["EmbeddedBrokerError", "MissingTool"]


class EmbeddedBrokerError(StreamLDPError, RuntimeError):
    """The embedded broker could not be fetched or started; the message holds the end of its output."""


class MissingTool(EmbeddedBrokerError):
    """This machine lacks a program that the embedded broker needs; the message says which, and what would help."""
