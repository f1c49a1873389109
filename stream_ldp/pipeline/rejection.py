"""Why a batch is refused: one list, used by the exception, the metric label and the dead-letter header."""

from __future__ import annotations

from enum import StrEnum

from stream_ldp.errors import StreamLDPError

__all__ = ["Reason", "Rejected"]


class Reason(StrEnum):
    """The reasons a batch on a reports topic can go to the dead-letter topic."""

    TOO_SHORT = "too_short"
    """Fewer bytes than a header."""
    BAD_MAGIC = "bad_magic"
    """Does not begin with the magic bytes: not one of our batches."""
    UNKNOWN_VERSION = "unknown_version"
    """A wire version that this release does not speak."""
    WRONG_LENGTH = "wrong_length"
    """The body is not count x row width bytes: truncated, or bytes left over."""
    BAD_CHECKSUM = "bad_checksum"
    """The CRC-32 does not match: a bit was flipped on the way."""
    UNKNOWN_FINGERPRINT = "unknown_fingerprint"
    """Made under another collection, or another version of this one."""
    ZERO_REPORTS = "zero_reports"
    """A batch without rows."""
    WRONG_WIDTH = "wrong_width"
    """Rows of another width than the collection's reports have."""
    PADDING_BITS = "padding_bits"
    """A bit is set beyond the last bit of a report."""
    UNKNOWN_VALUE = "unknown_value"
    """A report names a value that its phase does not have."""
    FUTURE_TIME = "future_time"
    """Event time further ahead of the broker's clock than the collection allows."""
    PAST_TIME = "past_time"
    """Event time further behind the broker's clock than the collection allows."""
    CLOSED_PHASE = "closed_phase"
    """Its phase is not the one that is asked at its event time: a phase takes answers in its own window only."""
    LATE = "late"
    """In order, but its window had already closed."""


class Rejected(StreamLDPError, ValueError):
    """A batch that cannot be counted, with the one reason why."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail
