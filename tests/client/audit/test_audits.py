"""The audit of the clients of any collection, also of a kind that the package does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_ldp.client.audit.audits import audit_clients
from stream_ldp.kinds import KINDS, parse_collection
from tests.client.audit.files import data
from tests.coins import TEXT as COINS
from tests.schemas.recorded import COLLECTIONS
from tests.toy import Coins


@pytest.mark.parametrize(
    "kind",
    # Reports of these kinds are answers to other questions than those of `sampled`, through the same client. That
    # they are the specified ones is quickly shown in tests/audit/test_specified_rows.py.
    [
        pytest.param(kind, marks=pytest.mark.long if kind in {"views", "places", "pairs", "strings"} else ())
        for kind in KINDS
    ],
)
async def test_honest_clients_of_every_kind_break_no_promise(kind: str, tmp_path: Path) -> None:
    """It fails by chance in 5 of 10^6 runs."""
    text = COLLECTIONS[kind]
    found = await audit_clients(parse_collection(text), data(text), tmp_path)
    assert [each for each in found if each.problem is not None] == []
    assert sum(each.chance for each in found) < 6e-6


async def test_clients_of_a_kind_that_the_package_does_not_know_are_audited(coins: Coins, tmp_path: Path) -> None:
    found = await audit_clients(coins, data(COINS), tmp_path)
    assert [each for each in found if each.problem is not None] == []
