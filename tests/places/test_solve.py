"""The counts of places: unbiased, with true errors, and possible where they are projected."""

import numpy as np
import pytest

from stream_ldp.client.table import table_of
from stream_ldp.collection import CollectionError
from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.pipeline.statistics import ReportSums
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.places.solve import place_counts
from tests.places.examples import SHARES, collection_of, counts_of, rows_of, users
from tests.questions.examples import solved, sums_of
from tests.read_back import read_back


def expected_sums(oracle: FrequencyOracle, held: np.ndarray) -> np.ndarray:
    """The sums that reports of users in these places of a region have on average: of a direct response."""
    p, q = oracle.support
    counts = np.bincount(held, minlength=oracle.size)
    return q * len(held) + (p - q) * counts


def test_on_average_the_counts_are_the_truth() -> None:
    """Exact: the average sums in place of random ones."""
    collection = collection_of("epsilon: [0.5, 2], oracle: k-rr, weights: users")
    people = users(1_000)
    chosen = collection.chosen(people)
    parts: list[np.ndarray] = []
    for number, question in enumerate(collection.asked):
        held = people["0"][chosen == number] - question.region.first
        parts += [np.array([len(held)]), expected_sums(question.randomizer, held)]
    counts = place_counts(collection, [(1.0, np.concatenate(parts))])
    assert counts.raw == pytest.approx(np.bincount(people["0"], minlength=5), abs=1e-9)


@pytest.mark.parametrize(
    ("oracle", "weights"),
    [
        ("k-rr", "users"),
        pytest.param("k-subset", "variance", marks=pytest.mark.long),
        ("hadamard", "variance"),
        pytest.param("k-rr", "variance", marks=pytest.mark.long),
        pytest.param("k-subset", "users", marks=pytest.mark.long),
        pytest.param("hadamard", "users", marks=pytest.mark.long),
    ],
)
def test_the_standard_errors_are_those_of_the_noise(oracle: str, weights: str) -> None:
    """400 repeats: the squared error over the variance, mean over 5 places, is within 15 % but for 1 seed in 10^5.

    Users choose their epsilon whatever their place is.
    """
    collection = collection_of(f"epsilon: [0.5, 2], oracle: {oracle}, weights: {weights}")
    squared = []
    for seed in range(400):
        people = users(600, seed)
        truth = np.bincount(people["0"], minlength=5)
        counts = place_counts(collection, [(1.0, sums_of(collection, rows_of(collection, people, seed)).values)])
        squared.append((counts.raw - truth) ** 2 / counts.standard_error**2)
    assert np.mean(squared) == pytest.approx(1, rel=0.15)


def test_projected_counts_are_possible() -> None:
    counts = counts_of(collection_of("epsilon: [0.1, 0.2]"), 300)
    told = {each.region: sum(each.reports) for each in counts.regions}
    assert min(counts.raw) < 0 <= min(counts.projected)
    assert sum(counts.projected) == pytest.approx(300)
    assert sum(told.values()) == counts.reports == 300
    assert sum(counts.projected[:2]) >= told["north"] - 1e-9


def test_the_message_has_the_regions_as_they_were_told() -> None:
    collection, people = collection_of(), users(2_000)
    counts = counts_of(collection, 2_000)
    chosen = np.bincount(collection.chosen(people), minlength=6).reshape(3, 2)
    assert [list(each.reports) for each in counts.regions] == chosen.tolist()
    assert counts.privacy.epsilons == (0.5, 2.0)
    assert "same region" in counts.privacy.assumption
    assert counts.weights == "variance", "the least epsilon is what liars would choose"


def test_nobody_in_a_region_adds_nothing() -> None:
    collection = collection_of()
    nobody = ReportSums.of(reports=0, values=np.zeros(collection.questions.counters, dtype=np.int64))
    counts = solved(collection, (1.0, nobody))
    assert (counts.reports, counts.regions, set(counts.raw)) == (0, (), {0.0})
    north = collection.table([(0, 1, 1)] * 50)
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, north))))
    assert counts.raw[2:] == (0.0,) * 3
    assert counts.standard_error[2:] == (0.0,) * 3
    assert sum(counts.projected[:2]) == pytest.approx(50)


def test_remembered_windows_steady_the_shares_but_do_not_add_reports() -> None:
    collection = collection_of(window=", memory: 0.5")
    sums = sums_of(collection, rows_of(collection, users(3_000)))
    alone, remembered = solved(collection, (1.0, sums)), solved(collection, (1.0, sums), (0.5, sums))
    assert remembered.reports == 3_000
    assert remembered.raw == pytest.approx(alone.raw)
    # Weights 1 and 1/2: 1.8 times as many reports.
    assert np.array(remembered.standard_error) * 1.8**0.5 == pytest.approx(alone.standard_error, rel=1e-6)


def test_users_who_repeat_their_answer_do_not_lessen_its_noise() -> None:
    once = counts_of(collection_of("epsilon: [1, 2], oracle: hadamard"))
    often = counts_of(collection_of("epsilon: [1, 2], oracle: hadamard", window=", reports_per_user: 4"))
    assert np.array(often.standard_error) == pytest.approx(2 * np.array(once.standard_error))
    assert often.plausibility is None


def test_rows_that_are_not_drawn_uniformly_are_flagged() -> None:
    collection = collection_of("epsilon: [1, 2], oracle: hadamard")
    honest = counts_of(collection)
    assert honest.plausibility is not None
    assert not honest.plausibility.flagged
    rows = rows_of(collection, users(5_000))
    pushed = solved(collection, (1.0, sums_of(collection, rows[rows[:, 1] % 4 < 2])))
    assert pushed.plausibility is not None
    assert pushed.plausibility.flagged
    assert counts_of(collection_of("epsilon: [1, 2], oracle: k-rr")).plausibility is None


def test_the_whole_is_the_sum_over_regions_of_any_tree() -> None:
    collection = PlaceCollection.parse(
        "collection: visits\nmechanism: {kind: places, epsilon: [1]}\nlevels: [2, 2, 2]\nwindow: {size: 10s}\n"
    )
    people = collection.table([(place, region, 0) for place in range(8) for region in (0, 1 + place // 4 * 3)] * 20)
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, people))))
    assert sum(counts.projected) == pytest.approx(len(people))
    assert [each.region for each in counts.regions] == ["everywhere", "0", "1"]


@pytest.mark.parametrize("fewer", [0, 1])
def test_regions_that_fewer_users_have_chosen_are_withheld_with_their_epsilon(fewer: int) -> None:
    collection = collection_of("epsilon: [0.5, 2], oracle: k-rr")
    everything = counts_of(collection, 300)
    least = min(reports for region in everything.regions for reports in region.reports if reports)
    shy = collection.model_copy(update={"min_reports": least + fewer})
    counts = counts_of(shy, 300)
    shown = [reports for region in counts.regions for reports in region.reports if reports]
    assert counts.withheld == (least if fewer else 0)
    assert min(shown) >= least + fewer
    assert sum(shown) + counts.withheld == counts.reports == 300
    assert sum(counts.projected) == pytest.approx(sum(shown))
    said = any("withheld" in sentence for sentence in counts.judgement().evidence)
    assert said is bool(fewer)


def test_a_place_that_one_user_alone_has_chosen_is_named_nowhere() -> None:
    collection = collection_of("epsilon: [0.5, 2], oracle: k-rr").model_copy(update={"min_reports": 2})
    people = users(1_000)
    people = people[collection.chosen(people) == collection.chosen(people)[0]]
    alone = users(1_000)[collection.chosen(users(1_000)) != collection.chosen(people)[0]][:1]
    counts = solved(collection, (1.0, sums_of(collection, rows_of(collection, np.concatenate([people, alone])))))
    assert counts.withheld == 1
    assert [min(region.reports) for region in counts.regions] == [0]


def windows(
    collection: PlaceCollection, *, seed: int, starts: tuple[int, ...] = tuple(range(12))
) -> list[PlaceCounts]:
    """Answer windows one after another, each with 1,000 new users; finals pass through their bytes."""
    answers: list[PlaceCounts] = []
    for number, start in enumerate(starts):
        people = users(1_000, seed=1_000 * seed + number)
        sums = sums_of(collection, rows_of(collection, people, 5_000 * seed + number))
        before = read_back(answers[-1]) if answers else None
        answers.append(solved(collection, (1.0, sums), window_ms=10_000 * start, before=before))
    return answers


def of(counts: PlaceCounts) -> FilteredEstimate:
    assert counts.learnt is not None
    return counts.learnt


def test_with_new_users_the_windows_before_halve_the_error_and_intervals_cover() -> None:
    """3 series of 8 scored windows: squared errors are about a fifth, and 95 % intervals cover above 0.9."""
    collection = collection_of(window=", returning: 0")
    alone, learnt, covered = [], [], []
    for seed in range(3):
        for each in windows(collection, seed=seed)[4:]:
            alone.append(np.mean((np.array(each.raw) / each.reports - SHARES) ** 2))
            off = np.array(of(each).estimate) - SHARES
            learnt.append(np.mean(off**2))
            covered += (np.abs(off) <= 1.96 * np.array(of(each).standard_error)).tolist()
    assert np.mean(learnt) < 0.5 * np.mean(alone)
    assert np.mean(covered) > 0.9


def test_a_table_has_the_learnt_share_of_each_place_beside_its_count() -> None:
    counts = windows(collection_of(window=", returning: 0"), seed=1, starts=(0, 1))[1]
    rows = table_of([counts]).rows
    assert [row["learnt"] for row in rows] == list(of(counts).estimate)
    assert [row["learnt_error"] for row in rows] == list(of(counts).standard_error)


def test_shares_of_users_who_report_several_times_have_the_error_of_as_many_users() -> None:
    once, often = (collection_of(window=f", returning: 0{each}") for each in ("", ", reports_per_user: 4"))
    rows = rows_of(once, users(1_000), 1)
    first, repeated = (
        solved(collection, (1.0, sums_of(collection, np.repeat(rows, times, axis=0))))
        for collection, times in ((once, 1), (often, 4))
    )
    assert of(repeated).estimate == pytest.approx(of(first).estimate)
    assert of(repeated).standard_error == pytest.approx(of(first).standard_error)


def test_the_first_window_has_its_own_shares_and_a_final_that_is_no_earlier_leaves_nothing() -> None:
    first, same = windows(collection_of(window=", returning: 0"), seed=1, starts=(3, 3))
    assert of(first).estimate == pytest.approx(np.array(first.raw) / first.reports)
    assert of(first).weight == of(same).weight == 0.0


@pytest.mark.parametrize("window", ["", ", returning: 1", ", memory: 0.5", ", hop: 5s"])
def test_nothing_is_learnt_where_windows_share_reports_or_all_users_return(window: str) -> None:
    assert windows(collection_of(window=window), seed=1, starts=(0, 1))[1].learnt is None


def test_a_prior_can_be_left_out_and_is_refused_where_windows_share_reports() -> None:
    alone = collection_of(window=", returning: 0").model_copy(update={"prior": "window"})
    assert windows(alone, seed=1, starts=(0, 1))[1].learnt is None
    text = (
        "{collection: v, mechanism: {kind: places, epsilon: [1]}, levels: [2], prior: temporal, "
        "window: {size: 10s, hop: 5s}}"
    )
    with pytest.raises(CollectionError, match="leave out hop and memory"):
        PlaceCollection.parse(text)
