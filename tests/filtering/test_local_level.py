"""Numbers that move from window to window are followed, with errors that are true, and jumps are believed."""

import numpy as np
import pytest
from scipy import stats

from stream_ldp.filtering.local_level import DRIFTS, Drift, Level, Noise, Updated, filter_step
from stream_ldp.filtering.shrinkage import FrequencyPrior

REPORTS = 1_000.0
NUMBERS = 6


def noise(variance: float, *, returning: float = 0.0) -> Noise:
    """Return the noise of windows of which a share of the users return with all of their noise."""
    every = np.full(NUMBERS, variance)
    return Noise(sampling=0.0 * every, fresh=(1.0 - returning) * every, permanent=returning * every)


def run(truths: np.ndarray, of: Noise, *, seed: int, same_noise: bool = False) -> list[Updated]:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=truths.shape)
    if same_noise:
        drawn[:] = drawn[0]
    found = truths + np.sqrt(of.fresh + of.permanent) * drawn
    solved: list[Updated] = []
    past: Level | None = None
    for each in found:
        solved.append(filter_step(past, each, of, scale=np.ones(NUMBERS), reports=REPORTS))
        past = solved[-1].level
    return solved


def walks(steps: float, *, windows: int = 40, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(scale=steps, size=(windows, NUMBERS)), axis=0)


@pytest.mark.parametrize("steps", [0.0, pytest.param(0.003, marks=pytest.mark.long), 0.03])
def test_the_error_is_below_that_of_the_window_alone_and_is_covered(steps: float) -> None:
    """30 runs x 30 windows x 6 numbers: 95 % intervals, correlated within a run.

    Without drift they are too wide, since a small drift cannot be excluded.
    """
    of, errors, alone, covered = noise(1e-3), [], [], []
    for seed in range(30):
        truths = walks(steps, seed=seed)
        solved = run(truths, of, seed=1_000 + seed)[10:]
        distance = np.array([each.mean for each in solved]) - truths[10:]
        stated = np.array([each.standard_error for each in solved])
        errors.append(distance**2)
        alone.append(1e-3)
        covered.append(np.abs(distance) <= 1.96 * stated)
    assert np.mean(errors) < (0.9 if steps == 0.03 else 0.4) * np.mean(alone)
    assert 0.91 <= np.mean(covered) <= 0.995


def test_the_weight_of_the_past_falls_with_the_drift() -> None:
    still, moving = (run(walks(steps, seed=1), noise(1e-3), seed=2)[-1] for steps in (0.0, 0.03))
    assert still.reports > 3 * REPORTS > 3 * moving.reports > 0.0
    assert still.drift is not None
    assert moving.drift is not None
    assert still.drift < 0.1 * moving.drift


def test_a_window_is_evidence_of_a_drift_by_the_likelihood_of_what_it_found() -> None:
    rng = np.random.default_rng(7)
    known, steps = rng.uniform(1e-3, 2e-3, NUMBERS), rng.uniform(0.5, 2.0, NUMBERS)
    distance = rng.normal(scale=np.sqrt(known + 1e-3 * steps))
    learnt = Drift.learn(distance**2, known, steps, np.zeros(len(DRIFTS)))
    scales = np.sqrt(known + DRIFTS[:, None] * steps)
    likelihood = np.sum(stats.norm.logpdf(distance, scale=scales), axis=1)
    assert not learnt.jumped
    np.testing.assert_allclose(np.diff(learnt.evidence), np.diff(likelihood), atol=1e-12)
    posterior = np.exp(likelihood - likelihood.max())
    assert learnt.variance == pytest.approx(posterior @ DRIFTS / posterior.sum())


def test_a_number_that_moves_among_others_that_stay_is_followed_and_covered() -> None:
    """40 runs x 30 windows, whose error alone is 0.032, of a number that moves by 0.005 a window.

    With the drift of all alone, which the others hold down, it errs 0.83 times as much, and is covered 56 %.
    """
    distances, covered = [], []
    for seed in range(40):
        truths = np.zeros((40, NUMBERS))
        truths[:, 0] = 0.005 * np.arange(40)
        solved = run(truths, noise(1e-3), seed=seed)[10:]
        off = np.array([each.mean[0] for each in solved]) - truths[10:, 0]
        distances.append(off)
        covered.append(np.abs(off) <= 1.96 * np.array([each.standard_error[0] for each in solved]))
    assert np.sqrt(np.mean(np.square(distances))) < 0.7 * np.sqrt(1e-3)
    assert np.mean(covered) >= 0.85


def test_a_jump_is_followed_at_once_and_the_window_is_estimated_alone() -> None:
    truths = np.zeros((14, NUMBERS))
    truths[10:] = 0.5
    solved = run(truths, noise(1e-4), seed=3)
    assert [each.jumped for each in solved] == [False] * 10 + [True] + [False] * 3
    assert solved[10].reports == 0.0
    np.testing.assert_allclose(solved[10].mean, 0.5, atol=0.05)


def test_numbers_that_were_chosen_by_their_luck_do_not_seem_to_move() -> None:
    """The 20 that look largest of 2,000 numbers, nearly all of which are 0, are followed when they were chosen."""
    truth, error = np.append(np.linspace(0.9, 0.5, 5), np.zeros(1_995)), 0.1
    rng = np.random.default_rng(3)
    first, second = (truth + rng.normal(0.0, error, len(truth)) for _ in range(2))
    best = np.argsort(-first)[:20]
    of = Noise(sampling=np.zeros(20), fresh=np.full(20, 0.5 * error**2), permanent=np.full(20, 0.5 * error**2))
    past = Level.first(first[best], of)
    # Half of the noise comes again.
    shared = 0.5 * (first - truth)[best] + np.sqrt(0.75) * (second - truth)[best]
    prior = FrequencyPrior.learn(first, np.full(len(first), error))
    drifts = [
        filter_step(past, truth[best] + shared, of, scale=np.ones(20), reports=REPORTS, prior=each).drift
        for each in (prior, None)
    ]
    assert drifts[0] is not None
    assert drifts[1] is not None
    assert drifts[0] < 0.5 * drifts[1]


def test_noise_that_comes_again_with_the_same_users_says_nothing_new() -> None:
    solved = run(np.zeros((12, NUMBERS)), noise(1e-3, returning=1.0), seed=4, same_noise=True)
    np.testing.assert_allclose(solved[-1].standard_error, np.sqrt(1e-3), rtol=1e-3)
    assert solved[-1].reports == pytest.approx(0.0, abs=1e-3 * REPORTS)


def test_windows_without_reports_take_weight_from_the_past() -> None:
    past = run(walks(0.03, seed=5), noise(1e-3), seed=6)[-1].level
    found, scale = past.mean + 0.06, np.ones(NUMBERS)
    near, far = (
        filter_step(past, found, noise(1e-3), scale=scale, reports=REPORTS, elapsed=elapsed).reports
        for elapsed in (1, 10)
    )
    assert near > 1.5 * far, (near, far)


def test_what_is_older_by_several_windows_says_as_much_less_of_the_drift() -> None:
    known, steps = np.full(3, 1e-4), np.full(3, 0.25)
    evidence = Drift.learn(np.full(3, 0.09), known, steps, np.zeros(len(DRIFTS))).evidence
    still = np.full(3, 1e-4)
    drifts = [Drift.learn(still, known, steps, evidence, forgotten=windows).variance for windows in (1, 2, 6, 1_000)]
    assert drifts == sorted(drifts, reverse=True)
    assert drifts[-1] == pytest.approx(Drift.learn(still, known, steps, np.zeros(len(DRIFTS))).variance)
