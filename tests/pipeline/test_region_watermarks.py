"""Tests of the windows of several regions: which they wait for, and what they have without one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_ldp.kinds import kind_of, solve
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.answer import RegionPart, RegionState, Status
from stream_ldp.pipeline.content_type import STAYS
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint, file_digest
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import CutOff, MergeRecord, Partial, PartialKey, Watermark
from stream_ldp.pipeline.quarantine import LogEntry, Quarantine
from stream_ldp.pipeline.region_watermarks import ForeignSource
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source import Source
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.records.collection import JointCollection
from tests.client.examples import MINUTE_MS
from tests.pipeline.test_merging import CLOSED_MS, JOINT, SURVEY, due, partial, watermark
from tests.service.harness import SURVEY as HARNESS

FILE = file_digest(SURVEY)


def said(time_ms: int | None, region: str, *, partition: int = 0, generation: int = 1, **changes: Any) -> Watermark:
    """Make a watermark of a region, which has two partitions."""
    mark = replace(watermark(time_ms or 0, partition=partition, generation=generation), region=region, file=FILE)
    return replace(mark, **({"time_ms": time_ms, "topic": TopicIdentity(id=f"{region}1", partitions=2)} | changes))


def counted(reports: int, region: str, **changes: Any) -> Partial:
    return partial(reports, region=region, **changes)


def closing(region: str, time_ms: int = CLOSED_MS) -> list[Watermark]:
    return [said(time_ms, region, partition=partition) for partition in (0, 1)]


def cut(region: str, time_ms: int = CLOSED_MS, *, passed: tuple[tuple[int, int], ...] = ()) -> CutOff:
    return CutOff(
        collection=SURVEY.name,
        fingerprint=SURVEY.fingerprint.hex(),
        region=region,
        time_ms=time_ms,
        passed=passed,
    )


def folded(records: Iterable[MergeRecord], *, regions: tuple[str, ...] = ("eu", "us"), first: int = 0) -> Merge:
    merge = Merge(SURVEY, partitions=2, regions=regions)
    for offset, record in enumerate(records, start=first):
        merge.apply(record, offset=offset)
    return merge


def parts(merge: Merge, window_ms: int = 0) -> dict[str, RegionPart]:
    found = merge.task(window_ms, JOINT, final=True).sources
    assert found is not None
    return {part.region: part for part in found}


def states(merge: Merge, window_ms: int = 0) -> list[str]:
    return [part.state.value for part in parts(merge, window_ms).values()]


def test_a_window_waits_for_all_regions_and_adds_what_they_have_counted() -> None:
    merge = folded([counted(20, "eu"), counted(30, "us"), *closing("eu"), said(CLOSED_MS, "us")])
    assert due(merge) is None
    assert states(merge) == ["whole", "open"]
    merge.apply(said(CLOSED_MS, "us", partition=1))
    assert due(merge) == (0, JOINT)
    assert merge.task(0, JOINT, final=True).reports == 50
    assert {name: part.reports for name, part in parts(merge).items()} == {"eu": 20, "us": 30}
    assert states(merge) == ["whole", "whole"]


def test_sources_of_the_same_number_do_not_replace_each_other() -> None:
    merge = folded([counted(2, "eu"), counted(3, "us"), counted(4, "us", end=20), counted(5, "eu", end=11)])
    assert merge.task(0, JOINT, final=True).reports == 9


def test_a_region_that_nobody_has_heard_of_holds_windows_open() -> None:
    merge = folded([counted(2, "eu"), *closing("eu")])
    assert merge.watermark_ms is None
    assert due(merge) is None


def test_a_region_that_is_cut_off_is_left_out_of_what_it_has_not_closed() -> None:
    records: list[MergeRecord] = [counted(20, "eu"), counted(30, "us"), *closing("eu"), cut("us")]
    merge = folded(records)
    assert due(merge) == (0, JOINT)
    assert states(merge) == ["whole", "cut-off"]
    final = solve(SURVEY, merge.task(0, JOINT, final=True))
    assert final.sources is not None
    assert [part.reports for part in final.sources] == [20, 30]
    # What has come before the decision counts, and what comes after it does not, whenever the log is read.
    late = counted(41, "us", end=20)
    again = folded([*records, late, *closing("us"), late])
    assert again.task(0, JOINT, final=True) == merge.task(0, JOINT, final=True)
    assert dict(again.late.reports) == {"us": 11}


def test_a_region_that_is_back_counts_in_windows_that_are_open() -> None:
    merge = folded(
        [*closing("eu"), cut("us"), counted(7, "us", pane_ms=MINUTE_MS), counted(9, "eu", pane_ms=MINUTE_MS)]
    )
    for record in [*closing("eu", MINUTE_MS + CLOSED_MS), said(MINUTE_MS + CLOSED_MS, "us")]:
        merge.apply(record)
    assert due(merge) is None
    merge.apply(said(MINUTE_MS + CLOSED_MS, "us", partition=1))
    assert due(merge) == (MINUTE_MS, JOINT)
    assert merge.task(MINUTE_MS, JOINT, final=True).reports == 16
    assert states(merge, MINUTE_MS) == ["whole", "whole"]
    assert not merge.late.reports


def test_a_decision_that_comes_late_leaves_out_nothing_that_is_closed_by_then() -> None:
    """A worker that was frozen writes what it had decided after the region has caught up."""
    merge = folded([counted(2, "us"), *closing("us"), *closing("eu"), cut("us", passed=((0, 1), (1, 1)))])
    assert states(merge) == ["whole", "whole"]
    merge.apply(counted(3, "us", end=20))
    assert not merge.late.reports


def test_what_a_region_had_closed_is_whole_although_compaction_has_dropped_it() -> None:
    later = said(3 * MINUTE_MS, "us")
    passed = ((0, CLOSED_MS), (1, CLOSED_MS))
    merge = folded(
        [counted(2, "us"), *closing("eu", 2 * MINUTE_MS + 5_000), cut("us", 2 * MINUTE_MS, passed=passed), later]
    )
    merge.apply(said(3 * MINUTE_MS, "us", partition=1))
    assert states(merge) == ["whole", "whole"]
    assert states(merge, MINUTE_MS) == ["whole", "whole"]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (counted(1, "us-1"), "region 'us-1', and this merge has the regions eu, us, did you mean 'us'?"),
        (said(0, ""), "no region, and this merge has the regions eu, us"),
        (cut("ap"), "region 'ap', and this merge has the regions eu, us"),
        (said(0, "us", file="another"), "region 'us', which counts another version of the collection's file"),
    ],
)
def test_what_is_of_no_region_of_the_merge_is_refused_and_holds_nothing_back(record: MergeRecord, why: str) -> None:
    merge, quarantine = folded([]), Quarantine(SURVEY)
    with pytest.raises(ForeignSource, match=why.replace("?", r"\?")):
        merge.apply(record)
    key, value = partials.encode(record, writer="w")
    entry = LogEntry.read("partials", 0, 7, key=key, value=value, fault=None)
    unread = quarantine.apply(merge, entry)
    assert unread is not None
    assert why in unread.why
    assert quarantine.holding(merge) == []


def test_a_merge_without_regions_refuses_those_that_have_one() -> None:
    merge = Merge(SURVEY, partitions=1)
    with pytest.raises(ForeignSource, match="this merge has no regions -> name them in the setting regions"):
        merge.apply(counted(1, "eu"))


def test_records_name_their_region_and_without_one_are_as_before() -> None:
    for record in (counted(3, "eu"), said(5, "eu"), cut("eu", passed=((0, 4),))):
        key, value = partials.encode(record, writer="w")
        assert partials.decode(value) == record
        about = partials.decode_key(key)
        assert about is None or about.source == Source("eu", 0)
    # What only the next owner needs is marked for mirrors, and nothing else is.
    saved = Saved(collection="c", fingerprint="00", partition=0, generation=1, sort="panes", payload=b"", region="eu")
    assert STAYS in saved.headers
    assert STAYS not in (*replace(saved, region="").headers, *counted(3, "eu").headers)
    assert partials.decode(partials.encode(saved, writer="w")[1]) == saved
    key, value = partials.encode(partial(3), writer="w")
    assert b"region" not in value
    assert b'0,0,0,"w"]' in key
    assert partials.decode_key(key) == PartialKey(collection=SURVEY.name, source=Source("", 0), pane_ms=0, writer="w")


def test_the_merge_hears_of_the_partitions_of_a_region_and_of_a_topic_that_is_made_again() -> None:
    more = TopicIdentity(id="us1", partitions=3)
    merge = folded([*closing("eu"), *closing("us"), said(None, "us", partition=2, topic=more)])
    assert merge.regions["us"].partitions == 3
    assert merge.watermark_ms is None
    # A partition that has joined and said nothing is waited for by the next owner as well.
    assert 4 in set(merge.regions.offsets)
    made_again = TopicIdentity(id="us2", partitions=1)
    merge.apply(said(2 * CLOSED_MS, "us", generation=9, topic=made_again))
    # A mirror copies once more what was said of the topic before.
    merge.apply(said(3 * CLOSED_MS, "us", partition=1))
    assert merge.regions["us"].partitions == 1
    merge.apply(counted(3, "us", partition=2))
    assert merge.regions["us"].partitions == 1
    assert merge.watermark_ms == CLOSED_MS


@pytest.mark.parametrize("order", [(2, 9), (9, 2)])
def test_partitions_of_a_region_have_owners_of_different_generations(order: tuple[int, int]) -> None:
    merge = folded(
        [*closing("eu"), *(said(CLOSED_MS, "us", partition=int(each == 9), generation=each) for each in order)]
    )
    assert merge.watermark_ms == CLOSED_MS
    assert states(merge) == ["whole", "whole"]


def test_a_number_of_reports_below_the_floor_is_told_of_no_region() -> None:
    merge = folded([counted(30, "eu"), counted(19, "us"), *closing("eu"), *closing("us")])
    assert [part.reports for part in parts(merge).values()] == [None, None]
    merge.apply(counted(20, "us", end=20))
    assert [part.reports for part in parts(merge).values()] == [30, 20]


def test_an_answer_without_regions_has_the_bytes_that_it_had() -> None:
    merge = Merge(SURVEY, partitions=1)
    merge.apply(partial(50))
    final = solve(SURVEY, merge.task(0, JOINT, final=True))
    assert final.sources is None
    assert b"sources" not in final.to_bytes()
    with_sources = final.with_sources(folded([]).task(0, JOINT, final=True).sources)
    assert type(final).from_bytes(with_sources.to_bytes()).sources == with_sources.sources


def test_silence_says_which_regions_were_silent() -> None:
    collection = JointCollection.parse(HARNESS.format(name="small"))
    window, file, fingerprint = collection.window, file_digest(collection), collection.fingerprint.hex()
    merge = Merge(collection, partitions=1, regions=("eu", "us"))
    (spec,) = collection.estimates
    merge.apply(partial(2, collection=collection, spec=spec, region="eu"))

    def close(number: int) -> None:
        closes_ms = number * window.size_ms + window.grace_ms
        mark = watermark(closes_ms, collection=collection)
        merge.apply(replace(mark, region="eu", file=file))
        merge.apply(CutOff(collection=collection.name, fingerprint=fingerprint, region="us", time_ms=closes_ms))

    close(1)
    answered = merge.due()
    assert answered is not None
    merge.decide(solve(collection, answered))
    close(2)
    silent = merge.due()
    assert silent is not None
    final = solve(collection, silent)
    assert final.status is Status.NO_REPORTS
    assert final.sources is not None
    # That nobody reported is known of one region alone.
    assert [part.state for part in final.sources] == [RegionState.WHOLE, RegionState.CUT_OFF]
    assert [part.reports for part in final.sources] == [0, 0]


def test_a_merge_that_begins_at_its_checkpoint_decides_alike() -> None:
    records: list[MergeRecord] = [
        *closing("us", CLOSED_MS),
        *closing("eu", MINUTE_MS + CLOSED_MS),
        counted(5, "eu", pane_ms=2 * MINUTE_MS),
        counted(6, "us", pane_ms=2 * MINUTE_MS),
        cut("us", MINUTE_MS + CLOSED_MS, passed=((0, CLOSED_MS), (1, CLOSED_MS))),
    ]
    merge = folded(records)
    merge.forget()
    checkpoint = merge.checkpoint
    assert checkpoint is not None
    again = Merge(SURVEY, partitions=2, regions=("eu", "us"))
    again.resume(checkpoint)
    rest: list[MergeRecord] = [
        *closing("eu", 2 * MINUTE_MS + CLOSED_MS),
        cut("us", 2 * MINUTE_MS + CLOSED_MS),
        counted(8, "us", pane_ms=2 * MINUTE_MS, end=20),
    ]
    for offset, record in enumerate(records + rest):
        if offset >= len(records):
            merge.apply(record, offset=offset)
        if offset >= checkpoint.partials:
            again.apply(record, offset=offset)
    assert again.task(2 * MINUTE_MS, JOINT, final=True) == merge.task(2 * MINUTE_MS, JOINT, final=True)
    assert again.task(2 * MINUTE_MS, JOINT, final=True).reports == 11
    assert again.watermark_ms == merge.watermark_ms


def test_a_merge_begins_at_the_decision_about_a_region_that_nobody_has_heard_of() -> None:
    merge = folded(
        [
            cut("us", 2 * MINUTE_MS + 5_000),
            *closing("eu", 2 * MINUTE_MS + 5_000),
            counted(3, "eu", pane_ms=2 * MINUTE_MS),
        ]
    )
    merge.forget()
    checkpoint = merge.checkpoint
    assert checkpoint is not None
    assert checkpoint.partials == 0


def test_a_refused_watermark_of_a_known_source_holds_nothing_back() -> None:
    """The counts of its generation would be valid if it, and not a later one, had closed their pane."""
    merge, quarantine = folded([]), Quarantine(SURVEY)
    refused = said(CLOSED_MS, "us", file="another")
    records: list[MergeRecord] = [
        counted(3, "us"),
        *closing("us", 1_000),
        refused,
        said(CLOSED_MS, "us", generation=2),
    ]
    for offset, record in enumerate(records):
        key, value = partials.encode(record, writer="w")
        entry = LogEntry.read("partials", 0, offset, key=key, value=value, fault=None)
        assert (quarantine.apply(merge, entry) is None) == (record is not refused)
    assert quarantine.holding(merge) == []


def test_a_checkpoint_is_void_when_the_regions_are_others() -> None:
    checkpoint = MergeCheckpoint(answers=1, partials=2, forgotten_before_ms=0, regions=("eu", "us"))
    fields: dict[str, Any] = {
        "answers": 1,
        "partials": 2,
        "metadata": checkpoint.metadata(SURVEY),
        "collection": SURVEY,
    }
    assert MergeCheckpoint.parse(**fields, regions=("eu", "us")) == checkpoint
    assert MergeCheckpoint.parse(**fields, regions=("eu", "us", "ap")) is None
    assert MergeCheckpoint.parse(**fields) is None
    alone = replace(checkpoint, regions=("",))
    assert "regions" not in alone.metadata(SURVEY)


def batches(number: int, *, seed: int) -> list[bytes]:
    """Make batches of random reports within two windows, in the order of their times."""
    random = np.random.default_rng(seed)
    width = (SURVEY.mechanism.bits + 7) // 8
    return [
        wire.encode(
            wire.Batch(
                fingerprint=SURVEY.fingerprint,
                batch_id=random.bytes(16),
                time_ms=int(place * 2 * MINUTE_MS / number),
                rows=random.integers(0, 2**SURVEY.mechanism.bits, size=(7, width), dtype=np.uint8),
            )
        )
        for place in range(number)
    ]


def counting(region: str, log: list[bytes], *, partition: int, dies_at: int | None = None) -> list[MergeRecord]:
    """Count a partition as its workers do; one that dies leaves the next one to begin at its last commit."""
    layout = kind_of(SURVEY).layout(SURVEY)
    topic = TopicIdentity(id=f"{region}1", partitions=2)
    state = SourcePartition(SURVEY, layout, partition=partition, topic=topic, region=region)
    written: list[MergeRecord] = []
    begin = 0
    while begin < len(log):
        end = min(begin + 5, len(log))
        state.count(range(begin, end), [3 * MINUTE_MS] * (end - begin), log[begin:end])
        changes = state.take_changes()
        if dies_at is not None and begin >= dies_at:
            dies_at = None
            # It has written its partials, and died before its commit.
            written += [] if changes is None else changes.partials
            state = SourcePartition(
                SURVEY, layout, partition=partition, topic=topic, region=region, checkpoint=state.checkpoint
            )
            begin = state.position
            continue
        if changes is not None:
            written += [*changes.partials, *([changes.watermark] if changes.watermark is not None else [])]
        begin = end
    return written


def mirrored(*logs: list[MergeRecord], seed: int) -> list[MergeRecord]:
    """Copy logs into one, each in its order and now and then once more from an earlier place, as mirrors do."""
    random = np.random.default_rng(seed)
    places, found = [0] * len(logs), []
    while any(place < len(log) for place, log in zip(places, logs, strict=True)):
        number = int(random.integers(len(logs)))
        if places[number] < len(logs[number]):
            found.append(logs[number][places[number]])
            places[number] += 1
            if number and random.random() < 0.05:
                places[number] = max(0, places[number] - 4)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_finals_of_two_regions_are_those_of_one_computation_over_all_reports(seed: int) -> None:
    """A worker of one region is killed; the mirror stops for a while, and copies some records twice."""
    sent = {region: [batches(20, seed=10 * seed + each) for each in (0, 1)] for region in ("eu", "us")}
    sent["us"] = [batches(20, seed=100 + 10 * seed + each) for each in (0, 1)]
    after = wire.Batch(
        fingerprint=SURVEY.fingerprint,
        batch_id=b"x" * 16,
        time_ms=3 * MINUTE_MS,
        rows=np.zeros((1, 1), dtype=np.uint8),
    )
    logs: dict[str, list[MergeRecord]] = {"eu": [], "us": []}
    for region, topic in sent.items():
        for partition, log in enumerate(topic):
            dies_at = 10 if (region, partition) == ("us", 1) else None
            logs[region] += counting(region, [*log, wire.encode(after)], partition=partition, dies_at=dies_at)
    merge = folded(mirrored(*logs.values(), seed=seed))
    alone = Merge(SURVEY, partitions=4)
    everything = [log for topic in sent.values() for log in topic]
    for partition, log in enumerate(everything):
        for record in counting("", [*log, wire.encode(after)], partition=partition):
            alone.apply(record)
    finals = []
    while (task := merge.due()) is not None and task.silent_until_ms is None:
        other = alone.due()
        assert other is not None
        final, expected = solve(SURVEY, task), solve(SURVEY, other)
        assert final.sources is not None
        assert [part.state for part in final.sources] == [RegionState.WHOLE, RegionState.WHOLE]
        assert final.with_sources(None).to_bytes() == expected.to_bytes()
        merge.decide(final)
        alone.decide(expected)
        finals.append(final.reports)
    assert finals == [280, 280, 280, 280]
