"""Designs: the choice of views and the error to expect."""

import numpy as np
import pytest

from stream_ldp.views.design import candidates, designed, ranked


def names(sizes: tuple[int, ...], *, epsilon: float, users: int, dependence: float | None = None) -> list[str]:
    return [each.name for each in ranked(sizes, epsilon=epsilon, users=users, dependence=dependence)]


def test_few_users_tell_single_attributes_and_many_tell_more() -> None:
    wide = (9, 16, 7, 15, 6, 5, 2, 41)
    assert names(wide, epsilon=1.0, users=4_000)[0] == "attributes"
    assert names(wide, epsilon=4.0, users=200_000)[0] != "attributes"
    assert names((2,) * 16, epsilon=1.0, users=20_000)[0] == "pairs"
    assert names((2,) * 16, epsilon=4.0, users=20_000)[0] == "plane"


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 3, 5, 7, 9, 11), 2.0), ((2,) * 16, 0.5)])
def test_where_dependence_decides_some_users_report_single_attributes_and_the_others_pairs(
    sizes: tuple[int, ...], epsilon: float
) -> None:
    assert names(sizes, epsilon=epsilon, users=20_000, dependence=0.01)[0] == "attributes"
    both, *_ = ranked(sizes, epsilon=epsilon, users=20_000)
    assert {len(view) for view in both.views} == {1, 2}
    alone = [candidates(sizes, epsilon=epsilon, names=[name])[0] for name in ("attributes", "pairs")]
    for dependence in (0.0, 0.05, 0.15):
        better = min(each.expected_avd(20_000, dependence=dependence) for each in alone)
        assert both.expected_avd(20_000, dependence=dependence) < 1.12 * better


@pytest.mark.parametrize("dependence", [0.01, 0.1, 0.4])
def test_a_stated_dependence_is_relied_on_more(dependence: float) -> None:
    lost = []
    for stated in (None, dependence):
        found = ranked((2, 3, 5, 7, 9, 11), epsilon=2.0, users=20_000, dependence=stated)
        errors = [each.expected_avd(20_000, dependence=dependence) for each in found]
        lost.append(errors[0] / min(errors))
    assert lost[1] < 1.05
    assert lost[1] <= lost[0]


def test_a_larger_view_has_to_be_better_than_pairs_with_less_dependence_too() -> None:
    assert names((2,) * 12, epsilon=2.0, users=20_000)[0] == "pairs"


def test_views_that_would_be_withheld_are_not_asked_about() -> None:
    # 120 pairs of 2,000 users have 17 each; of 4,315, they have 36.
    assert names((2,) * 16, epsilon=1.0, users=2_000)[0] == "attributes"
    assert names((2,) * 16, epsilon=1.0, users=4_315)[0].endswith("pairs")


def test_more_dependence_is_worth_more_noise() -> None:
    sizes = (9, 16, 7, 15, 6, 5, 2, 41)
    assert names(sizes, epsilon=2.0, users=20_000, dependence=0.01)[0] == "attributes"
    assert names(sizes, epsilon=2.0, users=20_000, dependence=0.5)[0] != "attributes"


def test_a_larger_view_gets_more_users() -> None:
    design = designed("given", [(0, 1), (2, 3)], sizes=(2, 2, 9, 9), epsilon=2.0)
    assert design.shares[1] > 2 * design.shares[0]
    assert sum(design.shares) == pytest.approx(1)


def test_the_shares_of_the_users_make_the_least_error() -> None:
    design = designed("given", [(0, 1), (2, 3)], sizes=(2, 2, 9, 9), epsilon=2.0)
    costs = [
        design.cells(view) / np.sqrt(design.information[view] / share)
        for view, share in zip(design.views, design.shares, strict=True)
    ]

    def error(share: float) -> float:
        return float(costs[0] / np.sqrt(share) + costs[1] / np.sqrt(1 - share))

    best = error(design.shares[0])
    assert best < min(error(design.shares[0] * 1.2), error(design.shares[0] * 0.8))


def test_expected_errors_fall_as_one_over_the_root_of_the_users() -> None:
    (pairs,) = candidates((2, 2, 3), epsilon=2.0, names=["pairs"])
    assert pairs.expected_avd(400_000) == pytest.approx(pairs.expected_avd(1_600_000) * 2, rel=0.02)
    (single,) = candidates((4,), epsilon=2.0)
    assert single.expected_avd(400) == pytest.approx(single.expected_avd(1_600) * 2)


def test_a_pair_that_no_view_has_is_expected_to_be_as_far_off_as_its_dependence() -> None:
    (attributes,) = candidates((2, 2, 3), epsilon=2.0, names=["attributes"])
    assert attributes.expected_avd(10**9, dependence=0.07) == pytest.approx(0.07, abs=0.001)


def test_no_view_has_more_cells_than_a_report_has_bits_for() -> None:
    assert {each.name for each in candidates((100, 100), epsilon=1.0)} == {"attributes"}
