"""Tests of which unread records hold final answers back, and of what makes up for the others."""

from collections.abc import Sequence

import numpy as np
import pytest

from stream_ldp.pipeline.answer import WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, Watermark, encode
from stream_ldp.pipeline.quarantine import NO_VALUE, LogEntry, Quarantine, Unread, Unsolved
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.layout import JointLayout
from tests.client.examples import MINUTE_MS, estimate_of
from tests.pipeline.test_merging import CLOSED_MS, JOINT, SURVEY, partial, watermark

GARBAGE = b"\x00\x01\x02\x03"


class Log:
    """A partition of the partials topic with the merge of one collection, which has two source partitions."""

    def __init__(self) -> None:
        self.merge = Merge(SURVEY, partitions=2)
        self.merge.expect(JointLayout(SURVEY))
        self.quarantine = Quarantine(SURVEY)
        self._end = 0

    def write(
        self,
        record: Partial | Watermark,
        *,
        writer: str = "first",
        value: bytes | None = b"",
        fault: str | None = None,
    ) -> Unread | None:
        """Write a record under its key, with another value if one is given."""
        key, encoded = encode(record, writer=writer)
        return self.write_raw(key, encoded if value == b"" else value, fault=fault)

    def write_raw(self, key: bytes | None, value: bytes | None, *, fault: str | None = None) -> Unread | None:
        entry = LogEntry.read("partials", 3, self._end, key=key, value=value, fault=fault)
        self._end += 1
        return self.quarantine.apply(self.merge, entry)

    def close(self, *, generation: int = 1, time_ms: int = CLOSED_MS, partitions: Sequence[int] = (0, 1)) -> None:
        for partition in partitions:
            self.write(watermark(time_ms, partition=partition, generation=generation))

    @property
    def holding(self) -> list[int]:
        """Offsets of the records that hold finals back."""
        return [unread.offset for unread in self.quarantine.holding(self.merge)]


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.mark.parametrize("key", [None, b"", b"key", b"\xff", b"[]", b'["partial"]', b'["partial","care-survey",1]'])
@pytest.mark.parametrize("value", [None, b"", GARBAGE, b"{}\n"])
def test_what_no_worker_has_written_hides_nothing(key: bytes | None, value: bytes | None, log: Log) -> None:
    unread = log.write_raw(key, value)
    assert unread is not None
    assert (unread.topic, unread.partition, unread.offset) == ("partials", 3, 0)
    log.write(partial(5))
    log.close()
    assert log.holding == []
    assert log.merge.due()


@pytest.mark.parametrize("value", [None, GARBAGE])
def test_a_count_of_the_owner_that_closed_the_pane_holds_finals_back_once_it_is_closed(
    value: bytes | None, log: Log
) -> None:
    log.write(partial(5))
    log.write(partial(5, partition=1), value=value)
    assert log.holding == [], "more may come"
    log.close()
    assert log.holding == [1]


def test_a_later_record_with_the_same_key_makes_up_for_one_that_cannot_be_read(log: Log) -> None:
    log.write(partial(5), value=GARBAGE)
    log.write(partial(7, end=12))
    log.close()
    assert log.holding == []


def test_the_owner_that_closes_a_pane_makes_up_for_what_another_wrote(log: Log) -> None:
    log.write(partial(5), value=GARBAGE, writer="first")
    log.write(partial(5, generation=2), writer="second")
    log.close(generation=2)
    assert log.holding == []


def test_an_owner_of_which_nothing_can_be_read_makes_up_for_nothing(log: Log) -> None:
    log.write(partial(5), value=GARBAGE, writer="first")
    log.close(generation=2)
    assert log.holding == [0]


def test_a_record_of_a_newer_release_says_so_and_its_count_is_made_again_by_this_one(log: Log) -> None:
    _, value = encode(partial(5), writer="newer")
    unread = log.write(partial(5), writer="newer", value=value.replace(b"{", b'{"version":2,', 1))
    assert unread is not None
    assert "version 2" in unread.why
    log.write(partial(5, generation=2), writer="older")
    log.close(generation=2)
    assert log.holding == []


def test_windows_that_have_their_finals_need_nothing(log: Log) -> None:
    log.write(partial(5), value=GARBAGE)
    log.close()
    assert log.holding == [0]
    bounds = WindowBounds(start_ms=0, end_ms=MINUTE_MS)
    for spec in SURVEY.estimates:
        log.merge.decide(estimate_of(window=bounds, estimate=spec.name))
    assert log.holding == []


def test_a_watermark_holds_finals_back_only_where_it_decides_which_counts_are_valid(log: Log) -> None:
    log.write(partial(5, generation=1))
    log.write(watermark(CLOSED_MS, generation=1), value=None)
    assert log.holding == []
    # The next owner advances the watermark: as far as is known, it has closed the pane without counting it.
    log.close(generation=2)
    assert log.holding == [1]
    log.write(watermark(CLOSED_MS, generation=1))
    assert log.holding == []


def test_a_damaged_record_of_which_nothing_is_known_may_hide_anything(log: Log) -> None:
    unread = log.write_raw(None, None, fault="offsets 5 to 9: the batch is damaged")
    assert unread is not None
    assert unread.why == "offsets 5 to 9: the batch is damaged"
    assert log.holding == [0]


def test_a_fault_that_leaves_the_value_whole_hides_nothing(log: Log) -> None:
    assert log.write(partial(5), fault="the name of a header is not UTF-8") is None
    log.close()
    assert log.merge.due()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (partial(5, fingerprint="0f" * 16), "of fingerprint 0f0f"),
        (partial(5, partition=2), "the reports topic has 2 partitions"),
        (partial(5, pane_ms=7), "where none begins"),
    ],
)
def test_what_belongs_to_another_topic_or_collection_is_passed_over(record: Partial, why: str, log: Log) -> None:
    unread = log.write(record)
    assert unread is not None
    assert why in unread.why
    log.close()
    assert log.holding == []


def test_counts_of_another_width_are_not_merged_and_may_hide_others(log: Log) -> None:
    wide = RowCounts.of(np.zeros((3, 2), dtype=np.uint8), bits=9)
    assert log.write(partial(5, counts=wide)) is not None
    log.close()
    assert log.holding == [0]
    assert log.merge.due() is None


def test_what_is_released_holds_nothing_back_and_what_comes_later_does(log: Log) -> None:
    log.write(partial(5), value=None)
    log.write(partial(5, partition=1), value=None)
    log.close()
    log.quarantine.release("partials", 1)
    assert log.holding == [1]
    log.quarantine.release("estimates", 9)
    assert log.holding == [1]
    log.quarantine.release("partials", 9)
    assert log.holding == []


def final_unread(start_ms: int, *, key: bytes | None = None, offset: int = 4) -> tuple[bytes, Unread]:
    key = f"{JOINT.name}|final|{start_ms}".encode() if key is None else key
    return key, Unread(topic="estimates", partition=0, offset=offset, why=NO_VALUE)


def test_the_newest_finals_have_to_be_readable_and_older_ones_need_not(log: Log) -> None:
    assert log.quarantine.add_final(*final_unread(MINUTE_MS)) == (JOINT.name, MINUTE_MS)
    log.quarantine.note_final(JOINT.name, 0)
    log.quarantine.note_final(JOINT.name, 2 * MINUTE_MS)
    assert log.holding == [4]
    log.quarantine.note_final(JOINT.name, 3 * MINUTE_MS)
    assert log.holding == []


def test_a_final_that_cannot_be_read_can_be_released(log: Log) -> None:
    log.quarantine.add_final(*final_unread(0))
    assert log.holding == [4]
    log.quarantine.release("estimates", 5)
    assert log.holding == []


@pytest.mark.parametrize("key", [b"", b"\xff", b"joint", b"joint|live", b"joint|final|x", b"|final|5"])
def test_what_is_not_the_key_of_a_final_is_passed_over_among_the_answers(key: bytes, log: Log) -> None:
    assert log.quarantine.add_final(*final_unread(0, key=key)) is None
    assert log.holding == []


def unsolved(log: Log, start_ms: int = 0) -> Unsolved:
    window = WindowBounds(start_ms=start_ms, end_ms=start_ms + MINUTE_MS)
    offset = log.merge.newest_offset(start_ms)
    return Unsolved(topic="partials", offset=offset, series=JOINT.name, window=window, error="MemoryError")


def test_a_window_that_cannot_be_solved_holds_finals_back_until_it_is_released(log: Log) -> None:
    log.write(partial(5))
    log.write(partial(5, pane_ms=MINUTE_MS))
    log.close()
    held = unsolved(log)
    assert held.offset == 0
    assert log.quarantine.add_unsolved(held)
    assert log.quarantine.unsolved(log.merge) == held
    log.quarantine.release("estimates", 9)
    assert log.quarantine.unsolved(log.merge) == held
    log.quarantine.release("partials", 1)
    assert log.quarantine.unsolved(log.merge) is None
    assert not log.quarantine.add_unsolved(held)
    assert log.quarantine.add_unsolved(unsolved(log, MINUTE_MS))


def test_a_window_that_could_not_be_solved_is_tried_again_once_another_record_of_it_has_come(log: Log) -> None:
    log.write(partial(5))
    assert log.quarantine.add_unsolved(unsolved(log))
    log.write(partial(5, pane_ms=MINUTE_MS))
    assert log.quarantine.unsolved(log.merge) is not None
    log.write(partial(5, end=11))
    assert log.quarantine.unsolved(log.merge) is None
