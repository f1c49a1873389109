"""Laws of partitions that are added: no report of theirs is counted into a window that was closed without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.pipeline.closed_so_far import ClosedSoFar
from stream_ldp.pipeline.partials import Watermark
from stream_ldp.pipeline.source_watermarks import SourceWatermarks
from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity


def mark(partition: int, time_ms: int | None, *, topic: TopicIdentity = UNASKED, generation: int = 1) -> Watermark:
    return Watermark(
        collection="survey",
        fingerprint="",
        partition=partition,
        generation=generation,
        time_ms=time_ms,
        topic=topic,
    )


def closed(*marks: Watermark) -> ClosedSoFar:
    found = ClosedSoFar()
    for each in marks:
        found.take(each)
    return found


FOUR = TopicIdentity(id="a1", partitions=4)


def test_a_partition_that_was_added_begins_where_the_others_had_closed() -> None:
    found = closed(*[mark(partition, 10 + partition, topic=FOUR) for partition in range(4)])
    assert found.watermark_ms(4) == 10
    assert closed(mark(0, 10, topic=FOUR)).watermark_ms(4) is None, "three others had closed nothing"


def test_a_partition_that_was_there_from_the_first_begins_at_the_beginning() -> None:
    found = closed(*[mark(partition, 10, topic=FOUR) for partition in range(3)])
    assert found.watermark_ms(3) is None


def test_a_partition_of_a_topic_that_was_made_again_begins_where_its_own_promise_was() -> None:
    found = closed(mark(0, 30, topic=FOUR, generation=5), mark(0, 20, topic=FOUR, generation=6))
    assert found.watermark_ms(0) == 30
    assert found.generation(0) == 6
    assert found.generation(1) == 0


@pytest.mark.parametrize("topic", [UNASKED, FOUR])
def test_a_partition_that_only_joined_has_promised_nothing(topic: TopicIdentity) -> None:
    assert closed(mark(0, None, topic=topic)).watermark_ms(0) is None


#: What happens to a collection: its topic grows; a partition joins; an owner who has let one join reads the log and
#: begins, if it has not died before; a watermark advances. The number chooses among the partitions that can.
STEPS = st.lists(
    st.tuples(st.sampled_from(["grow", "join", "begin", "advance", "advance"]), st.integers(0, 11)), max_size=60
)


@given(first=st.integers(1, 3), steps=STEPS)
def test_no_partition_begins_before_what_was_closed_without_it(first: int, steps: list[tuple[str, int]]) -> None:
    """The merge that closes the most was started with the first topic, and hears of others from the log alone."""
    partitions, log, merge = first, list[Watermark](), SourceWatermarks(partitions=first)
    # By partition: the topic that its owner found, and the event time that it has passed.
    joined: dict[int, TopicIdentity] = {}
    passed: dict[int, int] = {}
    furthest: int | None = None

    # All partitions of the first topic are counted by those who found it so.
    steps = [*[("join", 0)] * first, *[("begin", 0)] * first, *[("advance", each) for each in range(first)], *steps]
    for what, number in steps:
        record = None
        able = {
            "join": [each for each in range(partitions) if each not in passed and (each not in joined or number > 7)],
            "begin": sorted(joined.keys() - passed.keys()),
            "advance": sorted(passed),
        }.get(what, [])
        chosen = able[number % len(able)] if able else -1
        if what == "grow":
            partitions += 1 + number % 3
        elif not able:
            continue
        elif what == "join":
            joined[chosen] = TopicIdentity(id="a1", partitions=partitions)
            record = mark(chosen, None, topic=joined[chosen])
        elif what == "begin":
            begin = closed(*log).watermark_ms(chosen)
            assert furthest is None or (begin is not None and begin >= furthest)
            passed[chosen] = 0 if begin is None else begin
            record = None if begin is None else mark(chosen, begin, topic=joined[chosen])
        else:
            passed[chosen] += 1 + number
            record = mark(chosen, passed[chosen], topic=joined[chosen])
        if record is not None:
            log.append(record)
            merge.widen(record.topic.partitions)
            merge.advance(record, offset=len(log))
            if merge.time_ms is not None:
                furthest = merge.time_ms if furthest is None else max(furthest, merge.time_ms)


@given(times_ms=st.lists(st.integers(0, 10), max_size=5))
def test_a_partition_of_the_first_topic_begins_at_the_beginning_however_far_others_have_come(
    times_ms: list[int],
) -> None:
    topic = TopicIdentity(id="a1", partitions=len(times_ms) + 1)
    marks = [mark(partition, time_ms, topic=topic) for partition, time_ms in enumerate(times_ms)]
    assert closed(*marks).watermark_ms(len(times_ms)) is None


@pytest.mark.parametrize("forged", [(5_000, 2**63 - 1), (2**63 - 1, 7), (-(2**62), 7)])
def test_a_record_that_no_worker_writes_says_nothing(forged: tuple[int, int]) -> None:
    time_ms, generation = forged
    found = closed(mark(4, 5_000, generation=7), mark(4, time_ms, generation=generation))
    assert (found.generation(4), found.watermark_ms(4)) == (7, 5_000)
