"""Honest reporters of item sets keep all that the audit looks for; tests/test_breaks.py has those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.client.audit.item_reporter import audit_item_reporter
from tests.client.items import films


@pytest.mark.parametrize("epochs", ["sequential", "pipelined"])
@pytest.mark.parametrize(
    "mechanism",
    ["{kind: svim, epsilon: 3, k: 3, set_size: 4}", "{kind: gfim, epsilon: 2.345, k: 2, k_max: 4, set_size: 2}"],
)
async def test_honest_reporters_break_no_promise(mechanism: str, epochs: str, tmp_path: Path) -> None:
    """It fails by chance in 2 of 10^6 runs."""
    found = await audit_item_reporter(films(mechanism=mechanism, epochs=epochs, size="10s"), tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert sum(each.chance for each in found) < 3e-6
