"""The key of an answer: finals keep theirs, and the live view has one."""

from __future__ import annotations

from stream_ldp.pipeline.answer import WindowBounds
from tests.client.examples import MINUTE_MS, estimate_of


def test_each_final_has_its_own_key_and_provisionals_share_one() -> None:
    later = WindowBounds(start_ms=MINUTE_MS, end_ms=2 * MINUTE_MS)
    finals = {estimate_of().key, estimate_of(window=later).key, estimate_of(estimate="other").key}
    assert len(finals) == 3
    assert estimate_of(final=False).key == estimate_of(final=False, window=later).key
    assert estimate_of(final=False).key not in finals
