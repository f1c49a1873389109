"""The experiment: users are drawn, measured and scored, and the seed determines all."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.evaluation.experiment import Experiment, each_repeat, scores
from stream_ldp.evaluation.trial import Measured, Trial


def measured(avd: float, *, series: str = "a", word: str = "tree", seconds: float = 1.0) -> Measured:
    return Measured(series, {"avd": avd, "rmse": avd, "structure": word, "epsilon": 2.0}, seconds)


def test_a_score_summarises_all_repeats_of_a_series() -> None:
    found = scores(
        [
            [measured(0.1), measured(0.5, series="b")],
            [measured(0.3, seconds=3.0), measured(0.5, series="b")],
            [measured(0.5, word="none"), measured(0.5, series="b")],
        ]
    )
    assert list(found) == ["a", "b"]
    assert found["a"].repeats == 3
    assert found["a"].seconds == pytest.approx(5 / 3)
    assert found["a"].metrics == {
        "avd": pytest.approx(0.3),
        "avd_sd": pytest.approx(0.2),
        "rmse": pytest.approx(math.sqrt((0.01 + 0.09 + 0.25) / 3)),
        "rmse_sd": pytest.approx(0.2),
        "structure": "tree",
        "epsilon": 2.0,
    }
    assert found["b"].metrics["avd_sd"] == 0.0
    assert scores([[measured(0.1)]])["a"].metrics["avd_sd"] == 0.0


def test_measures_of_one_series_in_a_repeat_are_averaged_first_and_their_seconds_added() -> None:
    (score,) = scores([[measured(0.1), measured(0.3)], [measured(0.2), measured(0.2)]]).values()
    assert score.metrics["avd"] == pytest.approx(0.2)
    assert score.metrics["avd_sd"] == pytest.approx(0.0, abs=1e-9)
    assert score.seconds == 2.0


def test_a_metric_that_some_repeats_lack_is_the_mean_of_the_others() -> None:
    (score,) = scores([[Measured("a", {"auc": 0.5}, 0.0)], [Measured("a", {}, 0.0)]]).values()
    assert score.metrics == {"auc": 0.5, "auc_sd": 0.0}


def of_mean(trial: Trial[Any]) -> Iterator[Measured]:
    """Measure the error of a mean of numbers, with noise of a standard deviation of 1."""
    noise = np.random.default_rng(trial.noise).normal(size=len(trial.people))
    yield Measured("mean", {"avd": abs(float(noise.mean()))}, 0.0)


def experiment(users: int = 10, **options: Any) -> Experiment:
    given: dict[str, Any] = {"measure": of_mean, "population": np.arange(50)} | options
    return Experiment(collection=None, users=users, clock=lambda: 0.0, **given)


def test_users_are_drawn_once_per_repeat_and_others_are_kept_apart() -> None:
    trials: list[Trial[Any]] = []

    def keep(trial: Trial[Any]) -> Iterator[Measured]:
        trials.append(trial)
        yield Measured("a", {}, 0.0)

    list(experiment(measure=keep).repeats(3, seed=1))
    assert [len(set(each.people.tolist())) for each in trials] == [10] * 3
    assert len({tuple(each.people.tolist()) for each in trials}) == 3
    assert all(len(each.population) == 50 and not len(each.apart) for each in trials)
    trials.clear()
    list(experiment(measure=keep, apart=0.2).repeats(1, seed=1))
    (trial,) = trials
    assert set(trial.apart.tolist()).isdisjoint({*trial.people.tolist(), *trial.population.tolist()})
    assert len(trial.apart) == 10


def test_the_seed_repeats_everything() -> None:
    assert list(experiment().repeats(2, seed=1)) == list(experiment().repeats(2, seed=1))
    assert list(experiment().repeats(2, seed=1)) != list(experiment().repeats(2, seed=2))


def test_series_are_scored_by_their_group() -> None:
    (found,) = experiment(group=lambda series: series.upper()).repeats(1, seed=1)
    assert [each.series for each in found] == ["MEAN"]


def test_the_users_that_a_distance_takes_are_found() -> None:
    """The mean of |x| / sqrt(n) of normal x is 0.1 with 64 users. Seeded."""
    found = experiment().users_needed("mean", "avd", best=0.0, wanted=0.1, repeats=100, seed=1)
    assert found is not None
    assert abs(found.users - 64) < 4 * max(found.error, 2)


def test_users_are_drawn_without_replacement_as_long_as_there_are_enough() -> None:
    (some,), (many,) = (list(each_repeat(1, rows=5, users=users, seed=1)) for users in (5, 9))
    assert sorted(some.users.tolist()) == [0, 1, 2, 3, 4]
    assert len(many.users) == 9
    assert set(many.users.tolist()) <= {0, 1, 2, 3, 4}


def test_repeats_differ_in_users_and_noise_and_come_again_with_the_seed() -> None:
    first, second = each_repeat(2, rows=1_000, users=10, seed=1)
    again, _ = each_repeat(2, rows=1_000, users=10, seed=1)
    assert not np.array_equal(first.users, second.users)
    assert first.noise.generate_state(2).tolist() != second.noise.generate_state(2).tolist()
    assert np.array_equal(first.users, again.users)
    assert first.noise.generate_state(2).tolist() == again.noise.generate_state(2).tolist()


def test_a_population_of_nobody_is_refused() -> None:
    with pytest.raises(ParameterError, match="no rows"):
        next(each_repeat(1, rows=0, users=1, seed=1))


def test_some_are_kept_apart_and_nobody_is_drawn_from_them() -> None:
    for each in each_repeat(5, rows=10, users=40, seed=1, apart=0.2):
        assert len(each.apart) == 2
        assert sorted([*each.apart.tolist(), *each.others.tolist()]) == list(range(10))
        assert set(each.users.tolist()) == set(each.others.tolist())


def test_nobody_can_be_kept_apart_of_one() -> None:
    with pytest.raises(ParameterError, match="a table of 2 rows or more"):
        next(each_repeat(1, rows=1, users=1, seed=1, apart=0.2))
