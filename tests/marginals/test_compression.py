"""Compression: the channel of least epsilon for a distortion, and the distortions that no channel has."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import ParameterError
from stream_ldp.marginals.answer import Frequencies, Outputs
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.compression import distortions, least_epsilon
from stream_ldp.marginals.plan import plan
from stream_ldp.mechanisms import ChannelResponse
from stream_ldp.questions.oracles import epsilon_of_distortion
from tests.marginals.examples import collection_of, levels, outputs_of, rows_of, solved, sums_of


def channel_of(collection: SampledCollection) -> ChannelResponse:
    (question,) = collection.questions.questions
    assert isinstance(question.randomizer, ChannelResponse)
    return question.randomizer


@pytest.mark.parametrize(("size", "distortion"), [*itertools.product((2, 3, 8), (0.01, 0.1, 0.3))])
def test_by_hamming_it_is_the_k_rr_of_that_distortion(size: int, distortion: float) -> None:
    channel = least_epsilon(distortion, size=size, alphabet=size, measure="hamming")
    assert channel.epsilon == pytest.approx(epsilon_of_distortion(distortion, size), abs=2e-6)
    assert (1 - channel.channel.diagonal()).max() <= distortion + 1e-9


@pytest.mark.parametrize(("distortion", "alphabet", "rank"), [(1.0, 8, 8), (2.0, 8, 6), (2.0, 4, 4), (4.0, 2, 2)])
def test_the_distortion_holds_for_every_value(distortion: float, alphabet: int, rank: int) -> None:
    channel = least_epsilon(distortion, size=8, alphabet=alphabet, measure="squared")
    costs = distortions(8, alphabet, "squared")
    assert (channel.channel * costs).sum(axis=1).max() == pytest.approx(distortion, abs=1e-4)
    assert channel.rank == rank


def test_no_channel_of_less_epsilon_has_the_distortion() -> None:
    """Any channel of the family p on the nearest output and its mirror is worse than the one found."""
    best = least_epsilon(1.0, size=8, alphabet=8, measure="squared")
    costs = distortions(8, 8, "squared")
    for width in (0.3, 0.5, 0.8, 1.2):
        geometric = np.exp(-np.abs(np.subtract.outer(np.arange(8), np.arange(8))) * width)
        geometric /= geometric.sum(axis=1, keepdims=True)
        if (geometric * costs).sum(axis=1).max() <= 1.0:
            assert math.log((geometric.max(axis=0) / geometric.min(axis=0)).max()) > best.epsilon


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("distortion: 0.1, alphabet: 4", "no channel from 8 values to 4 outputs has a distortion of 0.1, hamming"),
        ("distortion: 2, alphabet: 2, measure: squared", "it is at least 2.25"),
        ("distortion: 0.9", "is that of reports that say nothing: give less than 0.875"),
        ("distortion: 1e-12", "takes more than epsilon 14"),
        ("distortion: 0.1, alphabet: 9", "2 to 64 values and at most as many outputs, got 8 and 9"),
        ("distortion: 0.1, alphabet: 1", "greater than or equal to 2"),
        ("distortion: 0.1, measure: cosine", "expected 'hamming' or 'squared'"),
        ("epsilon: 1, distortion: 0.1", "channel has no epsilon, which is for auto, k-rr"),
        ("epsilon: 1", "channel has no epsilon, which is for auto, k-rr"),
        ("hash_bits: 1", "channel has no hash_bits, which is for hadamard and s-hist"),
        ("measure: squared", "give either `distortion` or `table`"),
        ("table: [[0.5, 0.5], [0.4, 0.6]]", "the table has 2 rows, and attribute 'level' 8 values"),
        ("table: [[0.5, 0.5], [0.4, 0.6]], alphabet: 2", "leave them out beside `table`"),
        ("distortion: 0.1, table: [[0.5, 0.5], [0.4, 0.6]]", "give either `distortion` or `table`"),
    ],
)
def test_what_no_channel_reaches_is_said(mechanism: str, message: str) -> None:
    with pytest.raises(CollectionError) as raised:
        levels(mechanism)
    assert message in str(raised.value)
    assert "<collection>:3:" in str(raised.value)


@pytest.mark.parametrize("given", ["alphabet: 2", "measure: squared", "table: [[0.5, 0.5], [0.4, 0.6]]"])
def test_other_oracles_have_no_table(given: str) -> None:
    with pytest.raises(CollectionError, match=r"k-rr has no \w+, which is for channel: leave it out"):
        collection_of(f"epsilon: 1, oracle: k-rr, {given}")


def test_the_planned_table_written_into_the_file_is_the_same_collection() -> None:
    solved_for = levels("distortion: 0.3")
    table = plan(solved_for).attributes[0].table
    assert table is not None
    written = levels(f"table: {[list(row) for row in table]}")
    assert written.fingerprint == solved_for.fingerprint
    assert levels("distortion: 0.31").fingerprint != solved_for.fingerprint


def test_frequencies_are_published_where_the_channel_has_full_rank() -> None:
    """Each of 8 is 6 standard errors off for 1 seed in 10^8."""
    collection = levels("distortion: 0.3")
    people = collection.table([(value % 8 // 3,) for value in range(20_000)])
    found = solved(collection, (1.0, sums_of(collection, rows_of(collection, people)))).of("level").estimate
    assert isinstance(found, Frequencies)
    truth = np.bincount(people["0"], minlength=8) / len(people)
    assert np.all(np.abs(np.array(found.raw) - truth) < 6 * np.array(found.standard_error))
    assert plan(collection).attributes[0].estimated == "frequencies"
    assert sum(found.projected) == pytest.approx(1)


def test_without_full_rank_only_the_outputs_are_published() -> None:
    collection = levels("distortion: 2, measure: squared, alphabet: 4")
    found = outputs_of(4_000).of("level").estimate
    assert isinstance(found, Outputs)
    channel = channel_of(collection)
    expected = channel.channel.mean(axis=0)
    assert np.all(np.abs(np.array(found.share) - expected) < 6 * np.array(found.standard_error))
    assert found.rank == channel.rank == 4
    planned = plan(collection, populations=(4_000,)).attributes[0]
    assert planned.estimated == "outputs"
    assert planned.errors[0].standard_error == pytest.approx(np.mean(found.standard_error), rel=0.1)


def test_more_values_than_can_be_solved_for_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 to 64 values"):
        least_epsilon(0.5, size=65, alphabet=65, measure="hamming")
