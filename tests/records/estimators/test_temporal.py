"""Tests of windows that learn from those before them, and of what their errors then say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from stream_ldp.records.estimators import FloatArray, Past, Recurrence, Solution, estimator
from tests.records.estimators.examples import draw, latent

SIZES = (2, 2, 3)
USERS = 3_000
#: What each of the users who are new in every window reports.
NOISE = {"f": 0.1, "response": (0.5, 0.75)}
NEW_USERS = Recurrence(returning=0.0, permanent=0.02)
SAME_USERS = Recurrence(returning=1.0, permanent=1.0)


def follow(
    joints: Sequence[FloatArray], *, seed: int, recurrence: Recurrence = NEW_USERS, users: int = USERS
) -> list[Solution]:
    """Estimate one window after another; each has new users, of the joint of its place."""
    solutions: list[Solution] = []
    for window, joint in enumerate(joints):
        counts, channel = draw(joint, users, seed=1_000 * seed + window, **NOISE)  # type: ignore[arg-type]
        solutions.append(
            estimator("em", stop="certificate", delta=0.001).estimate(
                counts,
                sizes=joint.shape,
                supports=[channel] * joint.ndim,
                past=past_of(solutions[-1]) if solutions else None,
                recurrence=recurrence,
            )
        )
    return solutions


def past_of(solution: Solution) -> Past:
    assert solution.temporal is not None
    return solution.temporal.past


def alone_of(solution: Solution) -> FloatArray:
    assert solution.temporal is not None
    return solution.temporal.alone


def drift_of(solution: Solution) -> float:
    assert solution.temporal is not None
    assert solution.temporal.drift is not None
    return solution.temporal.drift


def distance(first: FloatArray, second: FloatArray) -> float:
    return 0.5 * float(np.abs(first - second).sum())


def errors(solutions: Sequence[Solution], joints: Sequence[FloatArray]) -> tuple[float, float]:
    """Return the mean distances to the populations: of the solutions, and of the windows alone."""
    both = list(zip(solutions, joints, strict=True))
    return (
        float(np.mean([distance(each.joint, joint) for each, joint in both])),
        float(np.mean([distance(alone_of(each), joint) for each, joint in both])),
    )


@pytest.fixture(scope="module")
def steady() -> tuple[list[Solution], list[FloatArray]]:
    """Four populations that do not change, 16 windows each; the last 8 of each, with the truth."""
    solutions, joints = [], []
    for seed in range(4):
        joint = latent(SIZES, seed=seed)
        solutions += follow([joint] * 16, seed=seed)[8:]
        joints += [joint] * 8
    return solutions, joints


def test_new_users_of_a_population_that_stays_take_a_third_of_the_error(
    steady: tuple[list[Solution], list[FloatArray]],
) -> None:
    """Over 16 other seeds, the mean share of three populations is 0.58, with a standard deviation of 0.09."""
    temporal, alone = errors(*steady)
    assert temporal < 0.75 * alone


def test_the_errors_cover_the_population_that_stays(steady: tuple[list[Solution], list[FloatArray]]) -> None:
    """95 % intervals, 32 windows of 12 cells that depend on each other: 90 % at least are covered."""
    within = [
        np.abs(solution.joint - joint) <= 1.96 * solution.standard_error
        for solution, joint in zip(*steady, strict=True)
    ]
    assert np.mean(within) >= 0.90


def test_dependence_that_no_window_has_seen_stays_in_the_errors() -> None:
    """Two fair coins and whether they agree: an error that forgets it covers 2 % in 5 windows of 4 series."""
    parity = np.where(np.indices((2, 2, 2)).sum(axis=0) % 2 == 0, 0.25, 0.0)
    within = [
        np.abs(solution.joint - parity) <= 1.96 * solution.standard_error
        for seed in range(4)
        for solution in follow([parity] * 8, seed=seed, users=16_000)[3:]
    ]
    assert np.mean(within) >= 0.90


def test_a_window_that_shows_little_dependence_by_chance_does_not_lose_the_past() -> None:
    """Judged by its own reports alone, one of the first 16 windows seems to err less than the past tells."""
    solutions = follow([latent((4, 4), seed=0)] * 16, seed=0, users=1_000)
    assert all(each.temporal is not None and each.temporal.users > 0.0 for each in solutions[1:])


def test_a_population_that_moves_is_followed_and_its_drift_is_learnt() -> None:
    """From one joint to another in 20 equal steps."""
    first, last = latent(SIZES, seed=5), latent(SIZES, seed=6)
    joints = [(1 - step) * first + step * last for step in np.linspace(0, 1, 20)]
    solutions = follow(joints, seed=5)
    temporal, alone = errors(solutions[5:], joints[5:])
    assert temporal < 0.9 * alone
    assert drift_of(solutions[-1]) > 3 * drift_of(follow([first] * 20, seed=5)[-1])


def test_cells_that_are_0_come_to_be() -> None:
    """Two attributes alike under strong noise: where each window moves cells to 0 and forgets that, 0.08 remain."""
    alike = np.diag([0.5, 0.5])
    solutions = [follow([alike] * 12, seed=seed, users=16_000)[-1] for seed in range(4)]
    between = [float(each.joint[0, 1] + each.joint[1, 0]) for each in solutions]
    assert np.mean(between) < 0.5 * np.mean(
        [float(alone_of(each)[0, 1] + alone_of(each)[1, 0]) for each in solutions]
    )


@pytest.mark.parametrize(("sizes", "users", "most"), [((8, 8), 100, 0.95), ((2, 2, 2), 5, 1.0)])
def test_windows_of_few_reports_gain_what_so_few_can(sizes: tuple[int, ...], users: int, most: float) -> None:
    """With weights as unequal as all that is known asks for, both err more than alone, the larger 2 times as much."""
    temporal, alone = 0.0, 0.0
    for seed in range(4):
        joint = latent(sizes, seed=seed)
        both = errors(follow([joint] * 8, seed=seed, users=users)[3:], [joint] * 5)
        temporal, alone = temporal + both[0], alone + both[1]
    assert temporal < most * alone


def test_a_jump_is_followed_at_once_and_the_window_is_estimated_alone() -> None:
    """Of four populations; over 12 others, the second window after it errs 0.64 times as much as alone."""
    after, alone = 0.0, 0.0
    for seed in range(4):
        first, last = latent(SIZES, seed=5 + seed), latent(SIZES, seed=7 + seed)
        solutions = follow([first] * 6 + [last] * 4, seed=7 + seed)
        jumped = [each.temporal is not None and each.temporal.jumped for each in solutions]
        assert jumped == [False] * 6 + [True] + [False] * 3
        np.testing.assert_array_equal(solutions[6].joint, alone_of(solutions[6]))
        both = errors(solutions[7:], [last] * 3)
        after, alone = after + both[0], alone + both[1]
    assert after < alone


def test_a_jump_of_dependence_alone_is_followed_within_two_windows() -> None:
    """The marginals stay, and noise is so strong that one window sees the jump as some 3 standard errors.

    With one drift for all coefficients, the third window after it errs 1.6 times as much as alone, and covers 59 %.
    """
    before, after = np.array([[0.35, 0.10], [0.05, 0.50]]), np.array([[0.05, 0.40], [0.35, 0.20]])
    temporal, alone, within = 0.0, 0.0, []
    for seed in range(8):
        last = follow([before] * 8 + [after] * 3, seed=seed, users=1_500)[-1]
        temporal, alone = temporal + distance(last.joint, after), alone + distance(alone_of(last), after)
        within.append(np.abs(last.joint - after) <= 1.96 * last.standard_error)
    assert temporal < alone
    assert np.mean(within) >= 0.8


@pytest.mark.parametrize(
    ("f", "response"),
    [
        (0.1, (0.5, 0.75)),
        pytest.param(0.5, None, marks=pytest.mark.long),
        pytest.param(0.5, (0.5, 0.75), marks=pytest.mark.long),
    ],
)
def test_dependence_that_turns_while_marginals_stay_is_followed(
    f: float, response: tuple[float, float] | None
) -> None:
    """Two attributes that agree at the beginning, and disagree at the end: 30 windows, twice.

    With one drift for all coefficients, marginals that stay hold it down: 1.06 to 1.29 times as far from the truth as
    alone, and 62 to 89 % covered.
    """
    agree, differ = np.array([[0.475, 0.025], [0.025, 0.475]]), np.array([[0.025, 0.475], [0.475, 0.025]])
    joints = [(1 - share) * agree + share * differ for share in np.linspace(0, 1, 30)]
    temporal, alone, within = 0.0, 0.0, []
    for seed in range(2):
        past: Past | None = None
        for window, joint in enumerate(joints):
            counts, channel = draw(joint, 4_000, f=f, response=response, seed=1_000 * seed + window)
            last = estimator("em", stop="certificate", delta=0.001).estimate(
                counts, sizes=(2, 2), supports=[channel] * 2, past=past, recurrence=NEW_USERS
            )
            past = past_of(last)
            if window >= 8:
                temporal, alone = temporal + distance(last.joint, joint), alone + distance(alone_of(last), joint)
                within.append(np.abs(last.joint - joint) <= 1.96 * last.standard_error)
    assert temporal < 1.02 * alone
    assert np.mean(within) >= 0.84


def test_scores_of_a_population_that_stays_are_those_of_chance_also_where_values_are_rare() -> None:
    """Two series of 24 windows; marginals that differ from window to window change the basis of the scores."""
    rare = np.array([0.9, 0.08, 0.01, 0.005, 0.005])
    joint = np.outer(rare, rare)
    squares = [
        float((past_of(each).scores ** 2).sum()) / (joint.size - 1)
        for seed in range(2)
        for each in follow([joint] * 24, seed=seed)[8:]
    ]
    assert np.mean(squares) < 1.2
    assert np.max(squares) < 2.5


def test_reports_with_hardly_any_noise_are_estimated_alone() -> None:
    """They tell of their own users what no other window does: with those before, 2 times as far from them."""
    past, joint = None, latent((10,), seed=1)
    for window in range(4):
        counts, channel = draw(joint, 80, f=0.002, seed=window)
        solution = estimator("em", stop="certificate", delta=0.001).estimate(
            counts, sizes=(10,), supports=[channel], past=past, recurrence=NEW_USERS
        )
        past = past_of(solution)
        np.testing.assert_array_equal(solution.joint, alone_of(solution))
        assert solution.temporal is not None
        assert solution.temporal.users == 0.0


@pytest.mark.parametrize(("recurrence", "least", "most"), [(SAME_USERS, 0.97, 1.03), (NEW_USERS, 0.0, 0.6)])
def test_permanent_noise_that_comes_again_says_nothing_new(recurrence: Recurrence, least: float, most: float) -> None:
    """The same reports in 12 windows: copies by the same users leave the errors as they are."""
    counts, channel = draw(latent(SIZES, seed=8), USERS, f=0.5, seed=8)
    past, solutions = None, []
    for _ in range(12):
        solutions.append(
            estimator("em", stop="certificate", delta=0.001).estimate(
                counts, sizes=SIZES, supports=[channel] * len(SIZES), past=past, recurrence=recurrence
            )
        )
        past = past_of(solutions[-1])
    ratio = np.linalg.norm(solutions[-1].standard_error) / np.linalg.norm(solutions[0].standard_error)
    assert least <= ratio <= most


def test_windows_without_reports_take_weight_from_the_past() -> None:
    first, last = latent(SIZES, seed=5), latent(SIZES, seed=6)
    before = past_of(follow([(1 - step) * first + step * last for step in np.linspace(0, 1, 20)], seed=5)[-1])
    counts, channel = draw(last, USERS, seed=99, **NOISE)  # type: ignore[arg-type]
    weights = []
    for elapsed in (1, 10):
        temporal = (
            estimator("em", stop="certificate", delta=0.001)
            .estimate(
                counts,
                sizes=SIZES,
                supports=[channel] * len(SIZES),
                past=before,
                recurrence=Recurrence(returning=0.0, permanent=0.02, elapsed=elapsed),
            )
            .temporal
        )
        assert temporal is not None
        weights.append(temporal.users)
    assert weights[0] > weights[1]


def test_a_past_of_another_shape_is_refused() -> None:
    (solution,) = follow([latent(SIZES, seed=1)], seed=1)
    counts, channel = draw(latent((2, 2), seed=1), 100, f=0.5, seed=1)
    with pytest.raises(ValueError, match=r"the past has another shape than the joint, \(2, 2\)"):
        estimator("em", stop="certificate", delta=0.001).estimate(
            counts, sizes=(2, 2), supports=[channel] * 2, past=past_of(solution), recurrence=NEW_USERS
        )
