"""Every collection has windows with the defaults that it documents."""

from __future__ import annotations

from stream_ldp.records.collection import JointCollection
from tests.records.examples import TEXT


def test_a_window_has_the_defaults_it_documents() -> None:
    window = JointCollection.parse(TEXT).window
    assert (window.size_ms, window.pane_ms, window.grace_ms) == (60_000, 60_000, 5_000)
    assert (window.idle_timeout_ms, window.ahead_ms, window.max_age_ms) == (10_000, 10_000, 86_400_000)
    assert (window.memory, window.memory_windows) == (None, 1)
    sliding = JointCollection.parse(TEXT.replace("60s", "2h, hop: 30 m, idle_timeout: never, memory: 0.5")).window
    assert (sliding.size_ms, sliding.pane_ms, sliding.idle_timeout_ms) == (7_200_000, 1_800_000, None)
    # 0.5^6 is the last weight of at least 1 %.
    assert sliding.memory_windows == 7
