"""These tests hold a plan to what it promises of a collection of records before anything runs."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest

from stream_ldp.mechanisms import RRLDP, SeededEntropy
from stream_ldp.mechanisms.privacy_loss import shown_guess
from stream_ldp.pipeline.plan import finite
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import cell_error, plan
from tests.plans import text_of
from tests.records.examples import TEXT, TOWNS_TEXT


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("response", [(None, None), (0.25, 0.75)])
def test_the_expected_error_is_that_of_the_linear_estimate(
    sizes: tuple[int, ...], response: tuple[float | None, float | None]
) -> None:
    p, q = response
    mechanism = RRLDP(sizes=sizes, f=0.4, p=p, q=q)
    channel, reports, repeats = mechanism.channel(), 400, 1_500
    rng = np.random.default_rng(20260718)
    values = np.stack([rng.integers(size, size=reports * repeats) for size in sizes], axis=1)
    rows = mechanism.perturb(values, entropy=SeededEntropy(5))
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")
    first_bits = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    factors = (bits[:, first_bits] - channel.zero) / (channel.one - channel.zero)
    estimates = factors.prod(axis=1).reshape(repeats, reports).mean(axis=1)
    assert estimates.mean() == pytest.approx(1 / math.prod(sizes), abs=5 * estimates.std() / math.sqrt(repeats))
    # The standard deviation of 1,500 estimates is within 10 % of the truth but for one seed in 10^6.
    assert estimates.std() == pytest.approx(cell_error(mechanism.supports, sizes, reports=reports), rel=0.1)


def test_the_error_that_linking_leaves_is_that_of_the_linear_estimate_from_each_users_mean() -> None:
    mechanism, users, repeats, windows = RRLDP(sizes=(2, 3), f=0.4, p=0.25, q=0.75), 200, 1_500, 6
    channel, rng, entropy = mechanism.channel(), np.random.default_rng(20260718), SeededEntropy(5)
    values = np.stack([rng.integers(size, size=users * repeats) for size in mechanism.sizes], axis=1)
    permanent = mechanism.permanent(values, entropy)
    means = np.mean([mechanism.instantaneous(permanent, entropy)[:, [0, 2]] for _ in range(windows)], axis=0)
    factors = (means - channel.zero) / (channel.one - channel.zero)
    estimates = factors.prod(axis=1).reshape(repeats, users).mean(axis=1)
    expected = cell_error(
        mechanism.supports,
        mechanism.sizes,
        reports=users,
        averaged=windows,
        permanent_share=mechanism.permanent_share,
    )
    # The standard deviation of 1,500 estimates is within 10 % of the truth but for one seed in 10^6.
    assert estimates.std() == pytest.approx(expected, rel=0.1)
    assert expected < 0.7 * cell_error(mechanism.supports, mechanism.sizes, reports=users)


def test_a_plan_says_what_linking_gains() -> None:
    linked = plan(JointCollection.parse(f"{TEXT}linked: 5m\n"))
    assert all(each.linked_error is not None and 0 < each.linked_error < 1 for each in linked.estimates)
    assert all(each.linked_error is None for each in plan(JointCollection.parse(TEXT)).estimates)


def test_every_stated_epsilon_is_the_mechanisms_own() -> None:
    collection = JointCollection.parse(TOWNS_TEXT)
    mechanism = collection.mechanism
    for loss in plan(collection).privacy:
        assert loss.epsilon == mechanism.epsilon(neighbours=loss.neighbours, reports=loss.reports)


def test_a_sample_makes_a_budget_last_longer_and_a_day_cheaper() -> None:
    everybody, some = (plan(JointCollection.parse(TOWNS_TEXT + more)) for more in ("", "sample: 0.01\n"))
    assert everybody.reports_per_day == pytest.approx(1_440)
    assert some.reports_per_day == pytest.approx(14.4)
    assert everybody.day.reports == 1_440
    assert some.day.reports == 15
    assert some.day.epsilon < everybody.day.epsilon
    for one, other in zip(everybody.budgets, some.budgets, strict=True):
        assert (one.budget, one.times) == (other.budget, other.times)
        assert math.isinf(one.days) or one.days * 100 == pytest.approx(other.days)
        assert one.days == one.times / 1_440


def test_a_document_has_cells_state_size_and_privacy() -> None:
    written = finite(asdict(plan(JointCollection.parse(TOWNS_TEXT), populations=(500, 5_000))))
    assert (written["bits"], written["report_bytes"]) == (21, 3)
    assert {(row["neighbours"], row["reports"]) for row in written["privacy"]} == {
        (neighbours, reports) for neighbours in (1, 3) for reports in (1, 2, 7, 30, 365, "inf")
    }
    narrow, wide = written["estimates"]
    assert (narrow["cells"], narrow["bits"], narrow["grows"], narrow["state_bytes"]) == (6, 5, False, 2**5 * 8)
    # Wider than 16 bits, the state is the distinct rows: 18 bits are 3 bytes, and a counter.
    assert (wide["cells"], wide["bits"], wide["grows"], wide["state_bytes"]) == (32, 18, True, 7)


def test_its_text_has_the_privacy_of_every_relation_and_the_best_guess() -> None:
    planned = plan(JointCollection.parse(TOWNS_TEXT))
    (row,) = (line for line in text_of(planned).splitlines() if line.startswith("best guess, from 50:50 | "))
    assert row == f"best guess, from 50:50 | {shown_guess(planned.privacy[5].epsilon)} | 99.9 %"
    # One report, one attribute: 0.53714..., rounded up.
    assert "1 | 0.538 | " in text_of(planned)


@pytest.mark.parametrize(("values", "size"), [("[no, yes]", "1 byte "), ("[a, b, c, d, e, f, g, h, i]", "2 bytes ")])
def test_the_size_of_a_report_is_reported_in_words_that_fit_the_number(values: str, size: str) -> None:
    collection = JointCollection.parse(
        "collection: small\nmechanism: {kind: rr-ldp, f: 0.5}\n"
        f"attributes: [{{name: one, values: {values}}}]\n"
        "window: {size: 60s}\nestimates: [{name: one, of: [one]}]\n"
    )
    assert f", {size}with padding" in text_of(plan(collection))


def test_its_text_says_whose_rows_are_counted_for_an_estimate_among_more_attributes() -> None:
    collection = JointCollection.parse(
        "collection: care\nmechanism: {kind: rr-ldp, f: 0.5}\n"
        f"attributes: [{', '.join(f'{{name: a{number}, values: [no, yes]}}' for number in range(4))}]\n"
        "window: {size: 60s}\n"
        "estimates: [{name: own, of: [a0, a1]}, {name: all, of: [a0, a1], among: [a0, a1, a3]}]\n"
    )
    planned = plan(collection)
    assert text_of(planned).count("; rows of") == 1
    assert "a0, a1; rows of 3 attributes" in text_of(planned)
    own, among = planned.estimates
    assert (own.bits, among.bits) == (4, 6)
    assert among.counted == ("a0", "a1", "a3")
