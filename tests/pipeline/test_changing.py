"""What values that change cost in each way, and which way is better when."""

import math
from dataclasses import replace

import pytest

from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.mechanisms import BitFlipResponse, RepeatedResponse
from stream_ldp.pipeline.changing import ChangingValues, change_plans, change_section


def changing_of(mechanism: str, values: int, *, beside: str, more: str = "") -> tuple[ChangingValues, ...]:
    listed = [f"v{number}" for number in range(values)]
    collection = parse_collection(
        f"collection: diets\nmechanism: {{{mechanism}}}\nattributes: [{{name: diet, values: {listed}}}{beside}]\n"
        f"window: {{size: 10s}}\n{more}"
    )
    return kind_of(collection).changing(collection)


def changing(mechanism: str, values: int = 8, *, texts: bool = True) -> tuple[ChangingValues, ...]:
    beside = ", {name: town, candidates: [york]}" if texts else ""
    return changing_of(f"kind: sampled, {mechanism}", values, beside=beside)


def of_records(mechanism: str, values: int) -> tuple[ChangingValues, ...]:
    beside, estimates = ", {name: bathes, values: [no, yes]}", "estimates: [{name: both, of: [diet, bathes]}]\n"
    return changing_of(mechanism, values, beside=beside, more=estimates)


def test_each_way_costs_what_the_ledger_charges_at_most() -> None:
    (of,) = changing("oracle: loloha, epsilon: 2, per_report: 1, buckets: 3")
    assert (of.about, of.values, of.buckets) == ("diet", 8, 3)
    none, one, five, many = change_plans([of], changes=[0, 1, 5, 50])
    for plan, values, buckets in ((none, 1, 1), (one, 2, 2), (five, 6, 3), (many, 8, 3)):
        assert plan.refused == pytest.approx(2)
        assert plan.by_value == pytest.approx(2 * values)
        assert plan.by_bucket == pytest.approx(2 * buckets)
        assert plan.by_bucket_on_average == pytest.approx(2 * 3 * (1 - (2 / 3) ** values))


def test_the_errors_are_compared_at_the_same_cost_for_a_lifetime() -> None:
    """Twenty changes among 8 values cost 8 times epsilon by value: two buckets may cost 4 times as much each."""
    (of,) = changing("oracle: o-rr, epsilon: 0.01")
    (plan,) = change_plans([of], changes=[20])
    share, e, more = 1 / 8, math.exp(0.01), math.exp(0.04)
    p, q = e / (e + 7), 1 / (e + 7)
    by_value = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
    by_bucket = 0.25 / (more / (more + 1) - 0.5) ** 2  # nearly, at so small an epsilon
    assert plan.error == pytest.approx(math.sqrt(by_bucket / by_value), rel=0.02)


def test_the_error_is_that_of_the_buckets_of_the_file() -> None:
    """As long as each value may have a bucket of its own, it is that of the response that the file asks for."""
    for buckets in (2, 4, 20):
        (of,) = changing(f"oracle: loloha, epsilon: 2, per_report: 1, buckets: {buckets}")
        (plan,) = change_plans([of], changes=[1])
        p, q = RepeatedResponse(size=buckets, epsilon=1, lifetime=2).support[0], 1 / buckets
        by_bucket = (p * (1 - p) / 8 + 7 / 8 * q * (1 - q)) / (p - q) ** 2
        assert plan.error == pytest.approx(math.sqrt(by_bucket / of.variance))


def test_too_many_buckets_are_said_to_be_worse_than_none() -> None:
    of = changing("oracle: loloha, epsilon: 2, per_report: 1, buckets: 20")
    told = change_section(of, change_plans(of)).notes[0]
    assert told.startswith(
        "diet: charge by value, whatever the number of changes; hashing to 20 buckets has at least 1.70 times its "
        "error at the same cost; with 3 buckets it is 0.45 times, once all values are reported."
    )


@pytest.mark.parametrize(
    ("mechanism", "values", "verdict"),
    [
        ("epsilon: 2, per_report: 1, oracle: loloha", 8, "diet: from 4 changes on, hashing has the smaller error"),
        ("epsilon: 2, per_report: 1, oracle: loloha", 16, "diet: hash the values; among so many"),
        ("epsilon: 2", 3, "diet: charge by value, whatever the number of changes"),
    ],
)
def test_it_says_which_way_is_better_when(mechanism: str, values: int, verdict: str) -> None:
    if "loloha" not in mechanism:
        mechanism += ", oracle: k-rr"
        listed = ChangingValues(about="diet", values=3, lifetime=2.0, per_report=2.0, variance=0.1, buckets=8)
        of: tuple[ChangingValues, ...] = (listed,)
    else:
        of = changing(mechanism, values)
    assert change_section(of, change_plans(of)).notes[0].startswith(verdict)


def test_kinds_without_values_in_a_list_have_nothing_to_compare() -> None:
    collection = parse_collection(
        "collection: films\nmechanism: {kind: gfim, epsilon: 2, k: 3}\nitems: {size: 100}\nwindow: {size: 60s}\n"
    )
    assert kind_of(collection).changing(collection) == ()


def test_records_are_compared_by_the_cohorts_that_they_have() -> None:
    """Two of eight values share one of two buckets in three of seven cohorts; two values are not hashed."""
    (of,) = of_records("kind: hashed-k-rr, epsilon: 2, per_report: 1", values=8)
    assert (of.about, of.values, of.buckets, of.hashed) == ("diet", 8, 2, True)
    none, one, seven, many = change_plans([of], changes=[0, 1, 7, 500])
    assert [none.by_bucket_on_average, one.by_bucket_on_average] == pytest.approx([2, 2 * (2 - 3 / 7)])
    assert [one.by_bucket, seven.by_bucket, many.by_bucket] == pytest.approx([4, 4, 4])
    assert [one.by_value, seven.by_value, many.by_value] == pytest.approx([4, 16, 16])
    assert seven.by_bucket_on_average == pytest.approx(4)
    notes = change_section([of], [none]).notes[0]
    assert notes.startswith("diet: from 2 changes on, hashing has the smaller error")


def test_records_that_are_not_hashed_are_reported_of_the_best_number_of_buckets() -> None:
    (of,) = of_records("kind: k-rr, epsilon: 3, per_report: 2", values=16)
    assert not of.hashed
    hashed = {g: of_records(f"kind: hashed-k-rr, epsilon: 3, per_report: 2, buckets: {g}", 16)[0] for g in of.choices}
    (plans,) = zip(*[change_plans([each], changes=[0]) for each in hashed.values()], strict=True)
    best = min(zip(hashed, plans, strict=True), key=lambda each: each[1].error)[0]
    assert of.buckets == best


def test_answers_by_bits_cost_one_more_than_bits_and_have_the_error_of_those_who_tell() -> None:
    (of,) = changing("oracle: d-bit-flip, epsilon: 2, bits: 3", texts=False)
    assert (of.bits, of.hashed) == (3, False)
    few, many = change_plans([of], changes=[1, 20])
    assert [few.by_bit, many.by_bit] == pytest.approx([4, 8])
    p, q = BitFlipResponse(size=3, epsilon=4, cohorts=3).support  # 16 nats by value, of which each of 4 answers has 4
    share = 1 / 8
    expected = 3 * (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2 + 2 * share * (1 - share)
    assert many.bit_error == pytest.approx(math.sqrt(expected / of.variance))
    assert "Answers by bits have the larger error" in change_section([of], [few]).notes[0]


def test_a_file_without_bits_is_reported_of_the_best_number_of_them() -> None:
    (of,) = changing("oracle: k-rr, epsilon: 1", values=32)
    for changes in (0, 5, 20):
        (plan,) = change_plans([of], changes=[changes])
        others = [change_plans([replace(of, bits=bits)], changes=[changes])[0].bit_error for bits in (1, 2, 8, 31)]
        assert plan.bit_error <= min(others) + 1e-12
    assert "Answers by bits have the larger error, whatever" in change_section([of], [plan]).notes[0]


def test_it_says_where_answers_by_bits_have_the_smallest_error() -> None:
    of = changing("oracle: k-rr, epsilon: 2, per_report: 1", texts=False)
    assert "Answers by 4 bits have the smallest error even without a change." in change_section(of, []).notes[0]
