"""Tests of LOLOHA's response: what repeated reports lose, and what stays the same in them."""

import dataclasses
import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import RESOLUTION, Entropy, LolohaResponse, SeededEntropy, SignCost
from stream_ldp.mechanisms.loloha import SignResponse
from stream_ldp.mechanisms.repeated import repeated_loss
from tests.sets.methods.examples import build

ORACLE = LolohaResponse(size=16, epsilon=1.0, lifetime=2.0)
SETS = [np.array(held, dtype=np.int64) for held in ([], [3], [0, 5, 9], list(range(16)))]


def words_of(user: int, purpose: bytes) -> Entropy:
    return SeededEntropy(np.random.SeedSequence([user, *purpose]))


def permanent(held: np.ndarray, user: int) -> bytes:
    return ORACLE.permanent(held, padding=4, words=partial(words_of, user)).tobytes()


@pytest.mark.parametrize(("epsilon", "lifetime"), [(1.0, 2.0), (0.1, 3.0), (2.5, 2.6)])
@pytest.mark.parametrize("reports", [1, 2, 3, 6])
def test_the_loss_of_repeated_reports_is_that_of_all_they_may_say(
    epsilon: float, lifetime: float, reports: int
) -> None:
    """Exact, over all sequences of signs that are sent."""
    permanent, fresh = (
        Fraction(chance, RESOLUTION) for chance in SignResponse(epsilon=epsilon, lifetime=lifetime).chances
    )

    def chance(sent: tuple[int, ...], sign: int) -> Fraction:
        return sum(
            (
                (permanent if kept == sign else 1 - permanent)
                * math.prod((fresh if said == kept else 1 - fresh for said in sent), start=Fraction(1))
                for kept in (0, 1)
            ),
            start=Fraction(0),
        )

    largest = max(chance(sent, 0) / chance(sent, 1) for sent in itertools.product((0, 1), repeat=reports))
    stated = repeated_loss(*SignResponse(epsilon=epsilon, lifetime=lifetime).chances, reports=reports)
    assert stated == pytest.approx(math.log(largest), abs=1e-12)


def test_all_reports_for_ever_lose_what_the_permanent_response_does() -> None:
    response = SignResponse(epsilon=1.0, lifetime=2.0)
    assert response.loss(reports=math.inf) == response.lifetime == pytest.approx(2.0, abs=1e-8)
    assert response.loss(reports=10**9) == response.lifetime
    assert response.loss(reports=0) == 0.0


@given(epsilon=st.floats(0.01, 5.0), more=st.floats(0.01, 5.0))
def test_more_reports_never_lose_less_and_each_adds_less_than_the_one_before(epsilon: float, more: float) -> None:
    """So of all ways to share reports out over two signs, the even one loses most, which is what a ledger charges."""
    chances = SignResponse(epsilon=epsilon, lifetime=epsilon + more).chances
    losses = [repeated_loss(*chances, reports=reports) for reports in range(40)]
    added = np.diff(losses)
    assert (added >= 0).all()
    assert (np.diff(added) <= 1e-12).all()


@given(epsilon=st.floats(0.001, 10.0), more=st.floats(0.001, 10.0))
def test_no_more_is_spent_than_was_asked_for_and_not_much_less(epsilon: float, more: float) -> None:
    response = SignResponse(epsilon=epsilon, lifetime=epsilon + more)
    assert response.epsilon <= epsilon
    assert response.lifetime <= epsilon + more
    permanent, fresh = response.chances
    assert fresh == RESOLUTION - 1 or repeated_loss(permanent, fresh + 1, reports=1) > epsilon
    # What was realised can be asked for.
    assert SignResponse(epsilon=response.epsilon, lifetime=response.lifetime).chances == response.chances


@pytest.mark.parametrize(("epsilon", "lifetime"), [(2.0, 2.0), (3.0, 2.0), (0.0, 1.0), (1.0, math.inf), (1.0, 30.0)])
def test_one_report_has_to_cost_less_than_all_of_them(epsilon: float, lifetime: float) -> None:
    with pytest.raises(ParameterError):
        LolohaResponse(size=8, epsilon=epsilon, lifetime=lifetime)


def test_one_report_has_the_accuracy_of_its_own_epsilon_whatever_all_may_cost() -> None:
    for lifetime in (1.1, 2.0, 5.0):
        kept, by_chance = LolohaResponse(size=8, epsilon=1.0, lifetime=lifetime).support
        assert kept == pytest.approx(math.e / (1 + math.e), abs=1e-8)
        assert by_chance == 0.5


def test_what_is_permanent_is_the_same_at_every_call_and_differs_between_users() -> None:
    for held in SETS:
        assert len({permanent(held, user=1) for _ in range(5)}) == 1
        assert permanent(held[::-1], user=1) == permanent(held, user=1)
        assert len({permanent(held, user=user) for user in range(100)}) > 10


def test_all_sets_of_a_user_show_the_same_row_and_at_most_two_responses() -> None:
    for user in range(50):
        seen = {permanent(held, user=user) for held in SETS}
        assert len({int(np.frombuffer(row, dtype=np.uint8)[0]) & 15 for row in seen}) == 1
        assert len(seen) <= 2


def test_sets_with_the_same_sign_show_the_same_response() -> None:
    for user in range(50):
        by_sign: dict[int, set[bytes]] = {}
        for held in SETS:
            sign = ORACLE.held_sign(held, padding=4, words=partial(words_of, user))
            by_sign.setdefault(sign, set()).add(permanent(held, user=user))
        assert all(len(rows) == 1 for rows in by_sign.values())


def test_fresh_noise_leaves_the_row_and_flips_signs_as_often_as_it_should() -> None:
    """The share of 100,000 flips is within 5 standard errors but for one seed in 10^6."""
    rows = np.repeat(np.frombuffer(permanent(SETS[2], user=1), dtype=np.uint8)[None], 100_000, axis=0)
    sent = ORACLE.refreshed(rows, entropy=SeededEntropy(1))
    assert sent.shape == rows.shape
    assert (sent & 15 == rows & 15).all()
    flipped = 1 - ORACLE.response.fresh.kept / RESOLUTION
    assert np.mean(sent != rows) == pytest.approx(flipped, abs=5 * math.sqrt(flipped / 100_000))


def test_it_is_never_chosen_for_users_who_report_once() -> None:
    assert list(LolohaResponse.for_value(8, epsilon=1.0)) == []
    assert list(LolohaResponse.for_set(8, padding=3, epsilon=1.0)) == []


def test_a_small_one_has_the_same_noise() -> None:
    small = ORACLE.small().small().small()
    assert small.size == 2
    assert small.response == dataclasses.replace(ORACLE).response
    assert ORACLE.resized(4, padding=2, epsilon=ORACLE.epsilon).response == ORACLE.response


def of_a_sign() -> SignCost:
    (phase,) = build("loloha", epsilon=1.0, lifetime=2.0).phases
    assert phase.memoised is not None
    return phase.memoised


def test_a_ledger_reads_the_same_cost_as_it_wrote() -> None:
    assert SignCost.model_validate_json(of_a_sign().model_dump_json()) == of_a_sign()


def test_signs_cost_what_their_reports_show_and_add_up() -> None:
    assert of_a_sign().loss(reports=1) == pytest.approx(1.0, abs=1e-8)
    assert of_a_sign().loss(reports=math.inf) == pytest.approx(2.0, abs=1e-8)
    twice = pytest.approx(2 * of_a_sign().loss(reports=3), abs=1e-12)
    assert of_a_sign().responses_loss(responses=2, reports=3) == twice
    assert of_a_sign().responses_loss(responses=0, reports=3) == 0.0


@pytest.mark.parametrize("chance", [0, 2**31, 2**32])
def test_a_chance_that_no_response_has_is_refused(chance: int) -> None:
    with pytest.raises(ValidationError):
        SignCost(permanent=chance, fresh=of_a_sign().fresh)
