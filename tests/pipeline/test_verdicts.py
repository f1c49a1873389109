"""Tests of the verdicts on batches by their times, and of how a rejection is worded."""

import numpy as np

from stream_ldp.pipeline import wire
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.pane_limits import PaneLimits
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.verdicts import NEVER, Timed, Verdict, judge_times, rejections
from tests.pipeline.test_source_partition import LAYOUT, NOW, SURVEY, batch

WINDOW = SURVEY.window


def judged(*times_ms: int, watermark_ms: int = NEVER) -> tuple[wire.Decoded, Timed]:
    records = [batch(time_ms, batch_id=i) for i, time_ms in enumerate(times_ms)]
    decoded = wire.decode(records, formats={LAYOUT.fingerprint: LAYOUT})
    appended = np.full(len(records), NOW)
    return decoded, judge_times(decoded, appended, window=WINDOW, layouts=[LAYOUT], watermark_ms=watermark_ms)


def test_a_time_is_judged_by_the_clock_of_the_broker_and_then_by_the_watermark() -> None:
    closed = NOW - WINDOW.pane_ms - WINDOW.grace_ms
    _, timed = judged(closed, NOW, closed, NOW + WINDOW.ahead_ms + 1, NOW - WINDOW.max_age_ms - 1)
    assert timed.verdicts.tolist() == [
        Verdict.COUNTED,
        Verdict.COUNTED,
        Verdict.LATE,
        Verdict.AHEAD,
        Verdict.BEHIND,
    ]
    assert timed.watermark_ms == NOW
    assert timed.panes[:3].tolist() == [each - each % WINDOW.pane_ms for each in (closed, NOW, closed)]


def test_a_watermark_never_goes_back_nor_beyond_the_clock_of_the_broker() -> None:
    assert judged(NOW + WINDOW.ahead_ms)[1].watermark_ms == NOW
    assert judged(NOW - 5_000, watermark_ms=NOW - 1)[1].watermark_ms == NOW - 1


def test_every_verdict_that_refuses_a_batch_has_a_reason_and_names_the_limit() -> None:
    decoded, _ = judged(*[NOW] * len(Verdict))
    verdicts, limits = np.array(list(Verdict), dtype=np.int64), PaneLimits(batches=7, linked=9)
    found = dict(rejections(decoded, verdicts, window=WINDOW, limits=lambda _: limits))
    assert {Verdict(index): why.reason for index, why in found.items()} == {
        Verdict.AHEAD: Reason.FUTURE_TIME,
        Verdict.BEHIND: Reason.PAST_TIME,
        Verdict.CLOSED: Reason.CLOSED_PHASE,
        Verdict.LATE: Reason.LATE,
        Verdict.CROWDED: Reason.TOO_MANY_BATCHES,
        Verdict.FULL: Reason.TOO_MANY_LINKED,
    }
    assert f"event time {moment(NOW)}: more than 3000 ms ahead" in found[Verdict.AHEAD].detail
    assert "7 batches" in found[Verdict.CROWDED].detail
    assert "9 linked reports" in found[Verdict.FULL].detail
