"""Methods keep their epsilons at their real width, and so do several users in one call."""

from typing import Any

import pytest

from stream_ldp.sets.audit import method_reports
from stream_ldp.sets.audit.method_reports import method_differences, wide_claims
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.sampling import respond
from tests.sets.methods.examples import method


@pytest.mark.parametrize(
    "shipped",
    [
        pytest.param(method("gfim", domain=1024, k=10, epsilon=4.0, set_size=20), marks=pytest.mark.long),
        method("svim", domain=64, k=3, epsilon=4.0),
        method("ldpminer", domain=119, k=10, epsilon=4.0, set_size=23, hash_bits=1),
    ],
    ids=lambda shipped: shipped.name,
)
def test_a_method_keeps_its_epsilons_at_its_real_width(shipped: Any) -> None:
    assert list(method_differences(shipped)) == []
    losses = wide_claims(shipped)
    assert losses
    assert all(each.enumerated <= each.claimed + 1e-9 for each in losses)


def test_a_client_that_sends_what_it_holds_where_it_is_asked_for_what_it_lacks_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ItemSets, "complement", lambda sets, _: sets)
    found = list(method_differences(method("svim", domain=64, k=3, epsilon=4.0)))
    assert found
    assert all(each.startswith("phase 3") for each in found)


def test_a_client_that_responds_with_something_else_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(*arguments: Any, **options: Any) -> Any:
        return respond(*arguments, **options) ^ 1

    monkeypatch.setattr(method_reports, "respond", spoiled)
    found = list(method_differences(method("svim", domain=64, k=3, epsilon=4.0)))
    assert "phase 1, padding 1: respond, 1 users in a call" in found[0]
