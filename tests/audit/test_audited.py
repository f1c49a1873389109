"""An audit is a list of claims, each of which has to hold."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from stream_ldp.audit.audited import Claim, Exact
from stream_ldp.cli import audit as command
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from tests.cli.audits import Enumerated, run
from tests.schemas.recorded import COLLECTIONS


def claim(claimed: float, enumerated: float, *, allowed: float | None = None, tight: bool = False) -> Claim:
    return Claim(about={"reports": 1}, claimed=claimed, enumerated=enumerated, allowed=allowed, tight=tight)


@pytest.mark.parametrize(
    ("stated", "holds"),
    [
        (claim(2.0, 2.0), True),
        (claim(2.0, 1.5), True),
        (claim(2.0, 2.0 + 1e-8), False),
        (claim(2.0, 1.5, tight=True), False),
        (claim(2.0, 2.0 + 1e-10, tight=True), True),
        (claim(math.inf, math.inf, tight=True), True),
        (claim(math.inf, 3.0, tight=True), False),
        (claim(3.0, math.inf), False),
        (claim(2.0, 2.0, allowed=2.0), True),
        (claim(2.0, 2.0, allowed=1.9), False),
        (claim(2.0, math.nan), False),
    ],
)
def test_a_claim_holds_if_neither_code_nor_ledger_contradicts_it(stated: Claim, holds: bool) -> None:
    assert stated.holds is holds


@cache
def enumerated(kind: str) -> Exact:
    collection = parse_collection(COLLECTIONS[kind])
    exact: Exact = kind_of(collection).claims(collection).enumerated()
    return exact


@pytest.mark.parametrize("kind", KINDS)
def test_each_claim_of_each_kind_counts(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = enumerated(kind)
    assert kind_of(parse_collection(COLLECTIONS[kind])).name == kind
    assert found.claims
    assert not found.disproved
    assert not found.differences
    for part in ("claims", "wide"):
        claims = getattr(found, part)
        for place, sound in enumerate(claims):
            broken = replace(sound, enumerated=2 * sound.claimed)
            changed: Any = {part: [*claims[:place], broken, *claims[place + 1 :]]}
            spoiled = replace(found, **changed)
            assert spoiled.disproved == [broken]
            monkeypatch.setattr(command, "read", lambda _, spoiled=spoiled: Enumerated(spoiled))
            result = run("any.yaml", "--exact")
            assert result.exit_code == 1
            assert "DISPROVED: 1 of " in result.stderr
            assert "Every claim holds" not in result.stdout
