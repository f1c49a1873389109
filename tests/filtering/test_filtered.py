"""What is learnt passes through its message whole, and a message that does not fit itself is refused."""

import numpy as np
import pytest
from pydantic import ValidationError

from stream_ldp.collection import Collection, Prior
from stream_ldp.filtering.filtered import FilteredEstimate, filter_window, places_among, returning_share
from stream_ldp.filtering.local_level import Noise, Updated, filter_step
from stream_ldp.pipeline.solver_state import state_of, with_state


def updated() -> Updated:
    noise = Noise(sampling=np.zeros(2), fresh=np.full(2, 1e-3), permanent=np.full(2, 2e-3))
    first = filter_step(None, np.array([0.2, 0.8]), noise, scale=np.ones(2), reports=100.0)
    return filter_step(first.level, np.array([0.25, 0.75]), noise, scale=np.ones(2), reports=100.0)


def read(learnt: FilteredEstimate) -> FilteredEstimate:
    """Read what is learnt again, with what it leaves to the next window."""
    return FilteredEstimate.model_validate_json(with_state(learnt.model_dump_json().encode(), state_of(learnt)))


def test_the_next_window_gets_what_this_one_left_to_the_last_bit() -> None:
    left = updated()
    level = read(FilteredEstimate.of(left, final=True)).level
    assert level is not None
    for name in ("mean", "variances", "permanent", "scores", "evidence"):
        assert getattr(level, name).tobytes() == getattr(left.level, name).tobytes()


def test_a_filter_with_fewer_scores_than_estimates_is_refused() -> None:
    learnt = FilteredEstimate.of(updated(), final=True)
    assert learnt.filter is not None
    short = learnt.filter.model_copy(update={"scores": (0.0,)})
    with pytest.raises(ValidationError, match="differ in number"):
        read(learnt.model_copy(update={"filter": short}))


def test_a_provisional_answer_leaves_nothing() -> None:
    assert FilteredEstimate.of(updated(), final=False).level is None


def test_estimates_without_as_many_errors_are_refused() -> None:
    document = FilteredEstimate.of(updated(), final=True).model_dump()
    with pytest.raises(ValidationError, match="differ in number"):
        FilteredEstimate.model_validate(document | {"standard_error": [0.1]})


def test_numbers_without_a_past_are_estimated_alone_and_the_others_with_it_wherever_they_stand() -> None:
    shares, errors = np.array([0.5, 0.3, 0.2]), np.full(3, 0.02)
    before = filter_window(None, shares, errors, returning=0.0, reports=100.0, elapsed=1, final=True)
    found = np.array([0.26, 0.1, 0.48])
    some = filter_window(
        before, found, errors, returning=0.0, reports=100.0, elapsed=1, final=True, places=np.array([2, -1, 0])
    )
    whole = filter_window(
        before.taken(np.array([2, 0])), found[[0, 2]], errors[:2], returning=0.0, reports=100.0, elapsed=1, final=True
    )
    assert [some.estimate[number] for number in (0, 2)] == list(whole.estimate)
    assert some.weight == whole.weight > 0.0
    assert some.estimate[1] == found[1]
    assert some.standard_error[1] == pytest.approx(errors[1])


def test_of_numbers_none_of_which_has_a_past_only_the_drift_is_known() -> None:
    before = FilteredEstimate.of(updated(), final=True)
    places, errors = np.array([-1, -1]), np.full(2, 0.02)
    none = filter_window(
        before, np.array([0.4, 0.6]), errors, returning=0.0, reports=100.0, elapsed=1, final=True, places=places
    )
    assert none.weight == 0.0
    assert none.estimate == (0.4, 0.6)
    assert none.filter is not None
    assert before.filter is not None
    assert none.filter.evidence == before.filter.evidence


def test_some_of_what_is_learnt_keeps_what_belongs_to_it() -> None:
    learnt = FilteredEstimate.of(updated(), final=True)
    (last,) = learnt.taken(np.array([1])).estimate
    assert last == learnt.estimate[1]
    assert learnt.taken(np.array([1, 0])).taken(np.array([1, 0])) == learnt


@pytest.mark.parametrize(
    ("window", "prior", "share"),
    [
        ({"returning": 0}, None, 0.0),
        ({"returning": 0.5}, "temporal", 0.5),
        ({"returning": 0.5}, "window", None),
        ({"returning": 1}, None, None),
        ({}, None, None),
        ({"memory": 0.5}, None, None),
        ({"hop": "5s"}, None, None),
    ],
)
def test_answers_that_are_repeated_tell_of_the_next_window_only_as_far_as_users_are_new(
    window: dict[str, object], prior: Prior | None, share: float | None
) -> None:
    collection = Collection.model_validate({"collection": "of-any-kind", "window": {"size": "10s", **window}})
    assert returning_share(collection, prior) == share


@pytest.mark.parametrize(("rotate", "share"), [(1, None), (2, 0.5), (10, 0.1)])
def test_where_users_take_turns_nobody_is_in_the_next_window_and_all_are_again_after_w(
    rotate: int, share: float | None
) -> None:
    collection = Collection.model_validate({"collection": "of-any-kind", "window": {"size": "10s"}, "rotate": rotate})
    assert returning_share(collection, None) == share


def test_errors_hold_for_users_who_come_again_with_the_same_noise_after_w_windows() -> None:
    """Seeded: 40 windows of 4 cohorts, each with one estimate for ever; .82 are covered without the share."""
    rng, covered = np.random.default_rng(1), []
    for _ in range(60):
        cohorts = 0.3 + 0.05 * rng.standard_normal((4, 4))
        before = None
        for number in range(40):
            before = filter_window(
                before,
                cohorts[number % 4],
                np.full(4, 0.05),
                returning=0.25,
                reports=1_000.0,
                elapsed=1,
                final=True,
            )
        assert before is not None
        covered.append(np.abs(np.array(before.estimate) - 0.3) < 1.96 * np.array(before.standard_error))
    assert 0.93 < np.mean(covered) < 0.995


def test_a_number_is_found_in_the_past_by_its_name_and_one_without_a_past_is_nowhere() -> None:
    assert places_among(["c", "d", "a"], ["a", "b", "c"]).tolist() == [2, -1, 0]
    assert places_among([], ["a"]).shape == (0,)
