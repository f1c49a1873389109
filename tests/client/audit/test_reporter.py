"""An honest reporter keeps all that the audit looks for; tests/test_breaks.py has those that do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.client.audit.reporter import Auditor, audit_reporter
from stream_ldp.client.audit.subjects import JointSubject
from stream_ldp.client.reporter import Reporter
from stream_ldp.records.collection import JointCollection
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


def linked(**changes: Any) -> JointCollection:
    return JointCollection.model_validate(collection_of().document | {"linked": 3_600_000} | changes)


async def test_an_honest_reporter_of_a_linked_collection_breaks_no_promise(tmp_path: Path) -> None:
    found = await audit_reporter(JointSubject(linked(sample=0.5)), tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert any("pseudonym is the user's own" in each.promise for each in found)


Made = NDArray[np.uint8]
rows = Reporter._rows


def named(names: Made, made: Made) -> Made:
    """Rows with other pseudonyms."""
    return np.concatenate([names, made[:, names.shape[1] :]], axis=1)


def of_the_record(self: Any, table: Any, **options: Any) -> Made:
    return named(np.tile(table[:, :1].astype(np.uint8), 8), rows(self, table, **options))


def for_ever(self: Any, table: Any, *, time_ms: int, **options: Any) -> Made:
    return rows(self, table, time_ms=0, **options)


def also_with_fresh_noise(self: Any, table: Any, *, secrets: Any, time_ms: int, **options: Any) -> Made:
    names = self._collection.pseudonyms(len(table), secrets=secrets, time_ms=time_ms, entropy=self._entropy)
    return named(names, rows(self, table, secrets=secrets, time_ms=time_ms, **options))


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (of_the_record, "not the user's own"),
        (for_ever, "not the user's own"),
        (also_with_fresh_noise, "fresh noise have a pseudonym in common"),
    ],
)
async def test_pseudonyms_that_tell_more_than_whose_a_report_is_are_found(
    broken: Any, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reporter, "_rows", broken)
    assert any(problem in told for told in await Auditor(JointSubject(linked()), tmp_path).linking())


def test_the_files_of_an_audit_are_all_in_its_directory(tmp_path: Path) -> None:
    asyncio.run(audit_reporter(JointSubject(collection_of()), tmp_path))
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} == {
        *("ledger", ".ledger"),
        *("user", ".user"),
    }
