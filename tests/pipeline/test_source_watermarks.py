"""Tests of the watermarks of source partitions: how far all are, and which generation closed what."""

from stream_ldp.pipeline.source_watermarks import SourceWatermarks
from tests.pipeline.test_merging import watermark


def marks_of(*marks: tuple[int, int, int], partitions: int = 1) -> SourceWatermarks:
    """Make the watermarks of (partition, generation, event time), at offsets 0, 1, ..."""
    found = SourceWatermarks(partitions=partitions)
    for offset, (partition, generation, time_ms) in enumerate(marks):
        found.advance(watermark(time_ms, partition=partition, generation=generation), offset=offset)
    return found


def test_the_time_is_that_of_the_partition_that_is_furthest_behind() -> None:
    assert marks_of((0, 1, 50), partitions=2).time_ms is None
    # A later generation may begin behind an earlier one, whose watermark holds all the same.
    assert marks_of((0, 1, 50), (0, 2, 40), (1, 1, 45), partitions=2).time_ms == 45
    assert marks_of((0, 1, 50), (1, 1, 60), partitions=2).time_ms == 50


def test_a_watermark_never_goes_back_within_its_generation() -> None:
    marks = marks_of((0, 1, 50))
    assert marks.advance(watermark(40), offset=1) is None
    assert marks.advance(watermark(50), offset=2) is None
    assert marks.advance(watermark(60), offset=3) == (50, 60)
    assert marks.advance(watermark(10, generation=2), offset=4) == (None, 10)
    assert list(marks.offsets) == [3, 4]


def test_the_first_generation_that_passed_a_time_is_the_one_that_closed_it() -> None:
    marks = marks_of((0, 1, 50), (0, 2, 70), (0, 3, 90))
    assert [marks.closed_by(0, time_ms) for time_ms in (50, 51, 70, 71, 91)] == [1, 2, 2, 3, None]


def test_generations_are_forgotten_with_what_they_closed_but_for_the_furthest() -> None:
    marks = marks_of((0, 1, 50), (0, 2, 70), (1, 1, 20), partitions=2)
    marks.forget(before_ms=60)
    assert list(marks.offsets) == [1, 2]
    assert marks.time_ms == 20
