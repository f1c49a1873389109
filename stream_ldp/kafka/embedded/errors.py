"""What can go wrong with an embedded broker."""

from __future__ import annotations

from stream_ldp.errors import StreamLDPError

__all__ = ["EmbeddedBrokerError", "MissingTool"]


class EmbeddedBrokerError(StreamLDPError, RuntimeError):
    """The embedded broker could not be fetched or started; the message holds its own last words."""


class MissingTool(EmbeddedBrokerError):
    """This machine lacks what the embedded broker runs on; the message says what, and what would help."""
