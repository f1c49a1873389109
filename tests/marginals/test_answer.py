"""Marginals as a message: they come back as they were sent."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from stream_ldp.collection import CollectionError
from stream_ldp.errors import ParameterError
from stream_ldp.filtering.filtered import FilteredEstimate
from stream_ldp.marginals.answer import Distribution, Frequencies, Marginals, Mean, Numbers
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.questions.reports import assumption
from tests.marginals.examples import TEXT, collection_of, marginals_of, outputs_of, rows_of, users
from tests.marginals.test_solve import windows
from tests.questions.examples import solved, sums_of


def test_an_attribute_is_found_by_its_name() -> None:
    marginals = marginals_of(collection_of())
    assert marginals.of("age").attribute == "age"
    with pytest.raises(KeyError, match="weight"):
        marginals.of("weight")


def test_frequencies_without_an_error_each_are_refused() -> None:
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1,), projected=(0.5, 0.5))


def test_as_many_numbers_are_learnt_as_there_are() -> None:
    learnt = FilteredEstimate(
        estimate=(0.5, 0.4, 0.1), standard_error=(0.1,) * 3, weight=0.0, drift=None, jumped=False, filter=None
    )
    with pytest.raises(ValidationError, match="differ in number"):
        Frequencies(values=("a", "b"), raw=(0.5, 0.5), standard_error=(0.1, 0.1), projected=(0.5, 0.5), learnt=learnt)
    with pytest.raises(ValidationError, match="3 numbers are learnt of one mean"):
        Numbers(range=(0.0, 1.0), mean=Mean(raw=0.5, standard_error=0.1, projected=0.5), learnt=learnt)


def test_a_peak_at_a_point_of_the_grid_is_one_cell_with_it_and_a_close_one_another() -> None:
    points = (0.0, 50.0, 50.0, 50.00001, 100.0)
    numbers = Numbers(
        range=(0.0, 100.0),
        mean=Mean(raw=50.0, standard_error=0.1, projected=50.0),
        distribution=Distribution(
            points=points,
            exact=(False, False, True, True, False),
            probability=(0.1, 0.2, 0.3, 0.15, 0.25),
            standard_error=(0.01,) * 5,
            deviations=((0.01, 0.03, 0.06, 0.0),),
        ),
    )
    _, *cells = numbers.cells("age")
    assert [cell.labels["value"] for cell in cells] == ["0", "50", "50.00001", "100"]
    assert [cell.estimate for cell in cells] == pytest.approx([0.1, 0.5, 0.15, 0.25])
    assert cells[1].standard_error == pytest.approx(0.05)


def test_a_judgement_has_the_answers_about_each_attribute_and_the_privacy() -> None:
    judged = marginals_of(collection_of()).judgement()
    assert judged.evidence[0].startswith("20,000 reports: diet ")
    assert list(judged.facts) == ["diet:reports", "age:reports", "smokes:reports"]
    assert judged.privacy[0].startswith("epsilon 2.000 a lifetime: ")
    assert judged.previous == ()


@pytest.mark.parametrize(
    ("mechanism", "costs"),
    [
        ("oracle: loloha, epsilon: 2, per_report: 1, buckets: 4", ("1.000", "2.000", "8.000")),
        ("oracle: loloha, epsilon: 2, per_report: 1, buckets: 20", ("1.000", "2.000", "16.000")),
        ("oracle: k-rr, epsilon: 2, per_report: 1", ("1.000", "2.000", "16.000")),
        ("oracle: rappor, epsilon: 2, hashes: 1, p: 0.25, q: 0.75", ("0.942", "2.000", "16.000")),
    ],
)
def test_a_judgement_has_the_costs_of_a_report_of_one_value_and_of_all(
    mechanism: str, costs: tuple[str, str, str]
) -> None:
    collection = SampledCollection.parse(
        f"{{collection: diets, mechanism: {{kind: sampled, {mechanism}}}, "
        "attributes: [{name: diet, values: [a, b, c, d, e, f, g, h]}], window: {size: 10s}}"
    )
    judged = solved(collection, (1.0, sums_of(collection, np.zeros((0, 8), dtype=np.uint8)))).judgement()
    report, value, most = costs
    assert judged.privacy[0].startswith(
        f"epsilon {report} a report, {value} a lifetime of one permanent answer, at most {most} of all of a user's: "
    )
    assert "each report perturbs a permanent answer again" in judged.privacy[0]


def test_no_number_bounds_the_cost_of_all_numbers() -> None:
    collection = collection_of("oracle: rappor, epsilon: 2, hashes: 1, p: 0.25, q: 0.75")
    assert collection.questions.all_answers is None
    assert "each other permanent answer costs as much" in assumption(collection.questions)


def test_a_judgement_says_what_no_number_says() -> None:
    marginals = marginals_of(collection_of())
    diet = marginals.of("diet")
    assert isinstance(diet.estimate, Frequencies)
    others = diet.estimate.model_copy(update={"others": 0.125, "dropped": ("a", "b")})
    assert diet.model_copy(update={"estimate": others}).notes == (
        "diet: 2 candidates do not stand out, and have no estimate",
        "diet: none of these: 0.1250",
    )
    assert "level: its frequencies do not follow from the outputs" in outputs_of().judgement().evidence


def test_what_nobody_answered_is_not_0() -> None:
    collection = collection_of()
    rows = collection.questions.perturb(np.zeros(10, dtype=np.int64), users(10), entropy=SeededEntropy(3))
    marginals = solved(collection, (1.0, sums_of(collection, rows)))
    assert "age: nobody has answered" in marginals.judgement().evidence
    assert {cell.group for cell in marginals.cells()} == {"diet"}


def test_a_judgement_says_what_is_learnt_from_previous_windows() -> None:
    previous = windows(collection_of(window=", returning: 0"), seed=1, count=3)[-1].judgement().previous
    assert [sentence.split(":")[0] for sentence in previous] == ["diet", "age", "smokes"]
    assert "; with them, meat 0." in previous[0]


def numbers_of(quantiles: str = "[0.5, 0.95]") -> Marginals:
    text = TEXT.format(mechanism="epsilon: 2", window="").replace("[0, 100]", f"[0, 100], quantiles: {quantiles}")
    return marginals_of(SampledCollection.parse(text), 8_000)


def test_quantiles_have_intervals_of_any_level() -> None:
    marginals = Marginals.from_bytes(numbers_of().to_bytes())
    cells = {cell.names: cell for cell in marginals.cells() if cell.names}
    truth = np.quantile(users(8_000)["1"], [0.5, 0.95])
    for share, true in zip((0.5, 0.95), truth.tolist(), strict=True):
        cell = cells[f"quantile {share:g}",]
        low, high = cell.interval() or (0, 0)
        assert low <= cell.estimate <= high
        assert low - 1 < true < high + 1
        assert (cell.interval(0.5) or (0, 0))[0] > low


def test_ranges_have_a_share_and_a_mean_with_errors() -> None:
    marginals = numbers_of()
    held = users(8_000)["1"]
    inside = held[(held >= 20) & (held <= 40)]
    share, mean = marginals.between(20, 40)
    assert (share.labels, mean.labels["quantity"]) == (
        {"attribute": "age", "quantity": "share", "value": "20 to 40"},
        "mean",
    )
    assert share.standard_error is not None
    assert abs(share.estimate - len(inside) / len(held)) < 4 * share.standard_error
    assert mean.standard_error is not None
    assert abs(mean.estimate - inside.mean()) < 4 * mean.standard_error + 0.5
    (whole, _) = marginals.between(-10, 500, of=["age"])
    assert (whole.estimate, whole.standard_error) == pytest.approx((1, 0), abs=1e-6)


@pytest.mark.parametrize(
    ("ends", "of", "message"),
    [
        ((40, 20), (), "the smaller one first; got 40,20"),
        ((20, 20), (), "the smaller one first; got 20,20: one number alone has users only in a range with a `step`"),
        ((-5, 0), (), "'age' is from 0 to 100, and no number from -5 to 0"),
        ((float("nan"), 20), (), "the smaller one first"),
        ((120, 140), (), "'age' is from 0 to 100, and no number from 120 to 140"),
        ((20, 40), ("diet",), "'diet' is no number of this answer, whose numbers are age"),
    ],
)
def test_ranges_that_bound_nothing_are_refused(ends: tuple[float, float], of: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        list(numbers_of().between(*ends, of=of))


def test_one_number_is_a_range_of_whole_steps() -> None:
    text = TEXT.format(mechanism="epsilon: 4", window="").replace("range: [0, 100]", "range: [0, 100], step: 1")
    collection = SampledCollection.parse(text)
    people = users(8_000)
    people["1"] = np.repeat([40.0, 0.0], [6_000, 2_000])
    marginals = solved(collection, (1.0, sums_of(collection, rows_of(collection, people))))
    for ends, share in (((40, 40), 0.75), ((0, 0), 0.25), ((-5, 0), 0.25), ((99, 99), 0.0)):
        (cell,) = marginals.between(*ends)
        assert cell.labels["value"] == str(ends[1])
        assert cell.estimate == pytest.approx(share, abs=0.05)
    assert next(iter(marginals.between(0, 40, below=True))).estimate == pytest.approx(0.25, abs=0.05)
    with pytest.raises(ParameterError, match="no number from 101 to 101"):
        list(marginals.between(101, 101))


def test_a_range_by_name_is_that_of_the_attribute() -> None:
    marginals = numbers_of()
    assert list(marginals.within({"age": (20, 40)})) == list(marginals.between(20, 40, of=["age"]))
    for ranges, of in (({"age": (20, 40), "hours": (1, 2)}, ()), ({"age": (20, 40)}, ("diet",))):
        with pytest.raises(ParameterError, match="have `estimates` of the attributes"):
            list(marginals.within(ranges, of=of))


def test_a_mean_alone_has_no_ranges() -> None:
    with pytest.raises(ParameterError, match="show its mean only"):
        list(marginals_of(collection_of("epsilon: 2, mean: harmony-mean")).between(20, 40))


@pytest.mark.parametrize(
    ("quantiles", "message"),
    [
        ("[0]", r"attributes\.1\.quantiles: a quantile of 'age' is a share between 0 and 1, such as 0.95; got 0"),
        ("[1]", "got 1. For an extreme, take a high quantile"),
        ("[.nan]", "quantile"),
        ("[0.9, 0.5]", "have to ascend"),
    ],
)
def test_quantiles_that_are_none_are_refused(quantiles: str, message: str) -> None:
    with pytest.raises(CollectionError, match=message):
        numbers_of(quantiles)


def test_quantiles_need_answers_that_show_a_distribution() -> None:
    text = TEXT.replace("[0, 100]", "[0, 100], quantiles: [0.5]")
    for mean in ("harmony-mean", "mean-est"):
        with pytest.raises(CollectionError, match="take `mean: auto`"):
            SampledCollection.parse(text.format(mechanism=f"epsilon: 2, mean: {mean}", window=""))
