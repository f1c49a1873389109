"""An honest reporter keeps all that the audit looks for; tests/test_breaks.py has those that do not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stream_ldp.client.audit.reporter import audit_reporter
from stream_ldp.client.audit.subjects import JointSubject
from tests.client.examples import collection_of


@pytest.mark.parametrize(
    "mechanism",
    ["{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: rr-ldp, f: 0.5}", "{kind: k-rr, epsilon: 1}"],
)
async def test_an_honest_reporter_breaks_no_promise(mechanism: str, tmp_path: Path) -> None:
    """It fails by chance in 4 of 10^6 runs."""
    found = await audit_reporter(JointSubject(collection_of(mechanism=mechanism)), tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert sum(each.chance for each in found) < 5e-6


def test_the_files_of_an_audit_are_all_in_its_directory(tmp_path: Path) -> None:
    asyncio.run(audit_reporter(JointSubject(collection_of()), tmp_path))
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} == {
        *("ledger", ".ledger"),
        *("user", ".user"),
    }
