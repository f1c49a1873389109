"""Tests of the basis: its functions are orthonormal, and reports estimate their coefficients without bias."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import Support
from stream_ldp.mechanisms.k_rr import KRR
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray
from stream_ldp.records.estimators import basis as basis_module
from stream_ldp.records.estimators.basis import AttributeBasis, ProductBasis
from stream_ldp.records.estimators.likelihood import Likelihood
from tests.records.estimators.examples import TINY_SIZES, channels, expected_counts, joints


def basis_of(joint: FloatArray, channel: Support) -> tuple[ProductBasis, Likelihood]:
    """Make the basis at the joint's own marginals, from the expected reports of its users."""
    subject = Likelihood.of(
        expected_counts(joint, channel=channel, reports=1_000), sizes=joint.shape, supports=[channel] * joint.ndim
    )
    attributes = []
    for j in range(joint.ndim):
        others = tuple(i for i in range(joint.ndim) if i != j)
        attributes.append(AttributeBasis.of(subject.select(j), joint.sum(axis=others)))
    return ProductBasis(attributes), subject


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
def test_the_functions_are_orthonormal_under_the_product_of_the_marginals(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support
) -> None:
    joint = 0.9 * data.draw(joints(sizes)) + 0.1 / np.prod(sizes)
    basis, _ = basis_of(joint, channel)
    for attribute in basis.attributes:
        weighted = attribute.functions * attribute.marginal[:, None]
        np.testing.assert_allclose(attribute.functions.T @ weighted, np.eye(len(weighted)), atol=1e-9)
    # By cells first and functions second: the coefficients of a cell's indicator over the product's share of it.
    np.testing.assert_allclose(basis.joint(basis.coefficients(joint)), joint, atol=1e-12)
    np.testing.assert_allclose(basis.coefficients(basis.product), basis.order == 0, atol=1e-9)


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
def test_the_mean_of_the_reports_is_every_coefficient_shrunk_by_lambda(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support
) -> None:
    joint = 0.9 * data.draw(joints(sizes)) + 0.1 / np.prod(sizes)
    basis, subject = basis_of(joint, channel)
    means = basis.moments(subject).means
    np.testing.assert_allclose(means, basis.retained * basis.coefficients(joint), atol=1e-9)


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
def test_under_independence_the_noise_of_a_coefficient_is_lambda(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support
) -> None:
    joint = 0.9 * data.draw(joints(sizes)) + 0.1 / np.prod(sizes)
    product, _ = basis_of(joint, channel)
    basis, subject = basis_of(product.product, channel)
    _, means, squares = basis.moments(subject)
    np.testing.assert_allclose((squares - means**2)[basis.order > 0], basis.retained[basis.order > 0], atol=1e-9)


def test_more_noise_retains_less_and_none_retains_all() -> None:
    joint = np.array([[0.4, 0.1], [0.2, 0.3]])
    retained = []
    for zero, one in ((0.45, 0.55), (0.3, 0.7), (0.1, 0.9), (0.0, 1.0)):
        basis, _ = basis_of(joint, Support.of_bits(one=one, zero=zero))
        retained.append(basis.retained[1, 1])
    assert np.all(np.diff(retained) > 0)
    assert retained[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("marginal", [[0.3, 0.7], [0.7, 0.3], [0.2, 0.5, 0.3]])
def test_no_function_is_less_at_the_last_value_than_at_the_first(marginal: list[float]) -> None:
    """So the coefficient of two binary attributes is positive if the second values go with each other."""
    basis, _ = basis_of(np.array(marginal), Support.of_bits(one=0.6, zero=0.4))
    functions = basis.attributes[0].functions
    assert (functions[-1] >= functions[0]).all()


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
def test_the_unshrunk_estimates_of_the_reports_have_the_joint_as_their_mean(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support
) -> None:
    joint = 0.9 * data.draw(joints(sizes)) + 0.1 / np.prod(sizes)
    basis, subject = basis_of(joint, channel)
    means = subject.mean_products([each.unshrunk for each in basis.attributes])
    np.testing.assert_allclose(means, joint, atol=1e-6)


@given(data=st.data(), sizes=st.sampled_from(TINY_SIZES), channel=channels)
def test_the_noise_of_every_cell_of_independent_attributes_has_the_ratio_1(
    data: st.DataObject, sizes: tuple[int, ...], channel: Support
) -> None:
    joint = 0.9 * data.draw(joints(sizes)) + 0.1 / np.prod(sizes)
    product, _ = basis_of(joint, channel)
    basis, subject = basis_of(product.product, channel)
    np.testing.assert_allclose(basis.noise_ratios(subject, basis.moments(subject)), 1.0, rtol=1e-6)


@pytest.mark.parametrize("counts", [[10, 0, 0], [7, 2, 1], [3, 3, 3, 3]])
def test_the_noise_of_one_attribute_is_the_mean_square_of_its_unshrunk_estimates(counts: list[int]) -> None:
    subject = named(counts, epsilon=1.0)
    attribute = AttributeBasis.of(subject, np.arange(1.0, len(counts) + 1.0))
    basis = ProductBasis([attribute])
    squares = subject.mean_products([lambda likelihoods: attribute.unshrunk(likelihoods) ** 2])
    found = basis.noise_ratios(subject, basis.moments(subject))
    np.testing.assert_allclose(found, squares / attribute.unshrunk_squares, rtol=1e-9, atol=1e-12)


def test_without_noise_the_noise_of_a_cell_is_its_share_of_the_users() -> None:
    joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    basis, subject = basis_of(joint, Support.of_bits(one=1.0 - 1e-6, zero=1e-6))
    np.testing.assert_allclose(basis.noise_ratios(subject, basis.moments(subject)), joint / 0.25, rtol=1e-3)


def named(counts: list[int], *, epsilon: float) -> Likelihood:
    """Make the likelihood of users of k-RR, of whom so many name each value."""
    k = len(counts)
    mechanism = KRR(sizes=(k,), attribute_epsilon=epsilon)
    bits = np.eye(k, dtype=np.uint8)[np.repeat(np.arange(k), counts)]
    rows = RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=k)
    return Likelihood.of(rows, sizes=(k,), supports=mechanism.supports)


@pytest.mark.parametrize("wide", [1, 8])
def test_values_that_nobody_has_named_leave_every_function_orthogonal_to_the_constant(
    wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basis_module, "_WIDE", wide)
    marginal = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.15, 0.05])
    basis = AttributeBasis.of(named([5, 3, 0, 0, 0, 0, 0], epsilon=1.0), marginal)
    np.testing.assert_allclose(basis.functions[:, 1:].T @ marginal, 0.0, atol=1e-12)
    np.testing.assert_allclose(basis.retained[1:5], 0.0, atol=1e-12)


@pytest.mark.parametrize("counts", [[40, 3, 7, 7, 7, 0, 0, 12, 1, 25], [0, 0, 9, 1, 0]], ids=str)
def test_the_basis_of_named_values_is_that_of_any_other_likelihood(
    counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is retained is the same, and so is the projection on the functions that retain as much."""
    marginal = np.random.default_rng(1).dirichlet(np.full(len(counts), 2.0))
    dense = AttributeBasis.of(named(counts, epsilon=2.0), marginal)
    monkeypatch.setattr(basis_module, "_WIDE", 1)
    wide = AttributeBasis.of(named(counts, epsilon=2.0), marginal)
    np.testing.assert_allclose(wide.retained, dense.retained, atol=1e-12)
    for each in (lambda x: x, np.square, np.sqrt):
        np.testing.assert_allclose(
            (wide.functions * each(wide.retained)) @ wide.functions.T,
            (dense.functions * each(dense.retained)) @ dense.functions.T,
            atol=1e-6,
        )


def test_the_scores_of_named_values_are_those_of_any_other_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = AttributeBasis.of(named([4, 3, 2, 1, 5], epsilon=2.0), np.array([0.4, 0.1, 0.2, 0.1, 0.2]))
    low = 0.3
    one_value = low + 0.7 * np.eye(5)[[3, 0, 3, 1]]
    several = np.maximum(one_value, low + 0.7 * np.eye(5)[[1, 1, 2, 1]])
    dense = [basis.scores(each) for each in (one_value, several)]
    monkeypatch.setattr(basis_module, "_WIDE", 1)
    for each, expected in zip((one_value, several), dense, strict=True):
        np.testing.assert_allclose(basis.scores(each), expected, atol=1e-12)
