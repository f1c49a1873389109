"""The audit of repeated reports finds what they lose, and what a client that redraws or forgets gives away."""

import math
from dataclasses import replace
from typing import Any

import pytest

from stream_ldp.mechanisms import LolohaResponse
from stream_ldp.sets.audit.repeated_reports import changing_losses, repeated_differences, repeated_losses
from stream_ldp.sets.methods.loloha import Loloha
from tests.audit import broken
from tests.sets.methods.examples import build

METHOD = Loloha(domain=6, k=2, epsilon=1.0, lifetime=2.0, set_size=2)


def twin(kind: type[LolohaResponse]) -> Loloha:
    method = replace(METHOD)
    method.__dict__["_oracle"] = kind(size=6, epsilon=1.0, lifetime=2.0)
    return method


@pytest.mark.parametrize(
    ("epsilon", "lifetime", "set_size"),
    [pytest.param(1.0, 2.0, 2, marks=pytest.mark.long), (2.0, 2.2, 1)],
)
def test_repeated_reports_lose_exactly_what_is_claimed_and_charged(
    epsilon: float, lifetime: float, set_size: int
) -> None:
    losses = repeated_losses(replace(METHOD, epsilon=epsilon, lifetime=lifetime, set_size=set_size))
    assert [each.about["reports"] for each in losses] == [1, 2, 3, math.inf]
    for each in losses:
        assert each.enumerated == pytest.approx(each.claimed, abs=1e-9)
        assert each.claimed == each.allowed
    assert losses[0].claimed == pytest.approx(epsilon, abs=1e-8)
    assert losses[-1].claimed == pytest.approx(lifetime, abs=1e-8)
    assert list(repeated_differences(METHOD)) == []


@pytest.mark.parametrize(
    "kind", [pytest.param(broken.RedrawsThePermanentSign, marks=pytest.mark.long), broken.RefreshesNothing]
)
def test_a_client_that_draws_afresh_or_not_at_all_loses_more_than_is_claimed(kind: type[LolohaResponse]) -> None:
    assert any(each.enumerated > each.claimed + 1e-9 for each in repeated_losses(twin(kind)))


@pytest.mark.parametrize("kind", [broken.RedrawsThePermanentSign, broken.RedrawsTheSlot, broken.RefreshesNothing])
def test_reports_that_do_not_show_one_permanent_response_are_found(kind: type[LolohaResponse]) -> None:
    assert any("one permanent response" in each for each in repeated_differences(twin(kind)))


def test_signs_that_share_their_noise_are_found() -> None:
    assert any("not independent" in each for each in repeated_differences(twin(broken.SharesTheNoiseOfSigns)))


def test_a_client_that_ignores_what_is_permanent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(sets: Any, *, padding: int, oracle: Any, entropy: Any, permanent: Any) -> Any:
        return oracle.perturb_sets(sets.offsets, sets.items, padding=padding, entropy=entropy)

    monkeypatch.setattr("stream_ldp.sets.sampling.memoised_reports", forgetful)
    assert any("respond" in each for each in repeated_differences(METHOD))


def test_a_change_shows_more_than_either_set_and_ever_more() -> None:
    losses = changing_losses(METHOD)
    assert [each["enumerated"] for each in losses] == sorted(each["enumerated"] for each in losses)
    assert all(each["enumerated"] > each["if_constant"] for each in losses)
    assert losses[-1]["enumerated"] > 2.0


def test_methods_of_fresh_reports_have_nothing_to_enumerate() -> None:
    svim = build("svim")
    assert (repeated_losses(svim), changing_losses(svim), list(repeated_differences(svim))) == ([], [], [])
