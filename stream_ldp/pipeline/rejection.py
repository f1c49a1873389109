"""The reasons for refusing a batch: one list for the exception, the metric label and the dead-letter header."""

from enum import StrEnum

from stream_ldp.errors import StreamLDPError


class Reason(StrEnum):
    """A reason for sending a batch from a reports topic to the dead-letter topic."""

    UNREADABLE_RECORD = "unreadable_record"
    """No Kafka client of ours can read the record: it is damaged, or a header's name is not UTF-8."""
    TOO_SHORT = "too_short"
    """The record has fewer bytes than a header."""
    BAD_MAGIC = "bad_magic"
    """The record does not begin with the magic bytes: it is not one of our batches."""
    UNKNOWN_VERSION = "unknown_version"
    """This release does not read the wire version."""
    WRONG_LENGTH = "wrong_length"
    """The body does not have count x row width bytes: it is truncated, or bytes are left over."""
    BAD_CHECKSUM = "bad_checksum"
    """The CRC-32 does not match: a bit was flipped on the way."""
    UNKNOWN_FINGERPRINT = "unknown_fingerprint"
    """The batch was made for another collection, or another version of this one."""
    ZERO_REPORTS = "zero_reports"
    """The batch has no rows."""
    WRONG_WIDTH = "wrong_width"
    """The rows have another width than the collection's reports."""
    PADDING_BITS = "padding_bits"
    """A bit is set beyond the last bit of a report."""
    UNKNOWN_VALUE = "unknown_value"
    """A report names a value that its phase does not have."""
    FUTURE_TIME = "future_time"
    """The event time is further ahead of the broker's clock than the collection allows."""
    PAST_TIME = "past_time"
    """The event time is further behind the broker's clock than the collection allows."""
    CLOSED_PHASE = "closed_phase"
    """The event time is outside the window of the phase that the batch reports to."""
    LATE = "late"
    """The batch is in order, but its window had already closed."""
    TOO_MANY_BATCHES = "too_many_batches"
    """The batch is in order, but there are as many of its window and partition as a worker may remember."""
    TOO_MANY_LINKED = "too_many_linked"
    """The batch is in order, but its window and partition have as many linked reports as workers may hold."""
    RETIRED = "retired"
    """The collection had been retired before the batch came."""

    @property
    def curable(self) -> bool:
        """Whether the same bytes may count later: with another release, file, clock, round or registration."""
        return self in _CURABLE


_CURABLE = frozenset(
    {
        Reason.UNKNOWN_FINGERPRINT,
        Reason.UNKNOWN_VERSION,
        Reason.FUTURE_TIME,
        Reason.PAST_TIME,
        Reason.CLOSED_PHASE,
        Reason.LATE,
        Reason.RETIRED,
    }
)


class Rejected(StreamLDPError, ValueError):
    """A batch that cannot be counted, with the one reason for it."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail
