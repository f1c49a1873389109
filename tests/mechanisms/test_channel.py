"""A channel: its table, what it loses, which frequencies follow, and the least epsilon for a distortion."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import ParameterError
from stream_ldp.marginals.answer import Frequencies, Outputs
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.plan import plan
from stream_ldp.mechanisms import ChannelResponse, DirectResponse, GivenWords
from stream_ldp.mechanisms.channel import distortions, exact_rows, least_epsilon
from stream_ldp.mechanisms.direct import epsilon_of_distortion
from stream_ldp.mechanisms.notation import read_mechanism
from tests.marginals.examples import collection_of, levels, outputs_of, rows_of
from tests.questions.examples import solved, sums_of

QUARTER = 2**30


def test_probabilities_are_rounded_to_words_and_sum_to_all_of_them() -> None:
    rows = exact_rows([[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7]])
    assert [sum(row) for row in rows] == [2**32, 2**32]
    assert rows[0] == (1431655766, 1431655765, 1431655765)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5], [0.4, 0.3, 0.3]], "differ in length"),
        ([[0.5, 0.6], [0.5, 0.5]], "row 0 of a channel"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 1 of a channel"),
        ([[0.5, 0.5], [math.nan, 0.5]], "row 1 of a channel"),
    ],
)
def test_rows_that_are_no_probabilities_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        exact_rows(rows)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (((2**32,), (2**32,)), "2 to 256 inputs and as many outputs, got 2 and 1"),
        (((QUARTER, 3 * QUARTER),), "got 1 and 2"),
        (((QUARTER, QUARTER), (QUARTER, 3 * QUARTER)), r"has to sum to 2\^32"),
        (((-1, 2**32 + 1), (QUARTER, 3 * QUARTER)), r"has to sum to 2\^32"),
        (((0, 2**32), (QUARTER, 3 * QUARTER)), "epsilon would be infinite"),
        (((QUARTER, 3 * QUARTER), (QUARTER, 3 * QUARTER)), "say nothing"),
        (((QUARTER, 3 * QUARTER), (2**32,)), "differ in length"),
    ],
)
def test_tables_that_are_no_channel_are_refused(table: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ChannelResponse(table=table)


def test_the_loss_is_that_of_the_likeliest_output_against_the_unlikeliest() -> None:
    assert ChannelResponse(table=((QUARTER, 3 * QUARTER), (3 * QUARTER, QUARTER))).epsilon == pytest.approx(
        math.log(3)
    )


def test_a_report_is_the_first_output_that_ends_beyond_the_word() -> None:
    channel = ChannelResponse(table=((QUARTER, QUARTER, 2 * QUARTER), (2 * QUARTER, QUARTER, QUARTER)))
    words = GivenWords(np.array([QUARTER - 1, QUARTER, 2 * QUARTER, 0, 3 * QUARTER - 1, 2**32 - 1], dtype=np.uint32))
    assert channel.perturb(np.array([0, 0, 0, 1, 1, 1]), entropy=words).tolist() == [[0], [1], [2], [0], [1], [2]]


def test_an_output_that_is_never_sent_is_not_valid() -> None:
    channel = ChannelResponse(table=((QUARTER, 0, 3 * QUARTER), (3 * QUARTER, 0, QUARTER)))
    assert channel.valid(np.array([[0], [1], [2], [3], [4]], dtype=np.uint8)).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_frequencies_follow_without_bias_and_with_the_errors_of_a_direct_response() -> None:
    direct = DirectResponse(size=4, epsilon=1.5)
    channel = ChannelResponse(
        table=exact_rows([[float(direct.probability(v, y)) for y in range(4)] for v in range(4)])
    )
    assert channel.epsilon == pytest.approx(1.5, abs=1e-6)
    truth = np.array([0.5, 0.3, 0.2, 0.0])
    assert channel.estimate(truth @ channel.channel * 900, reports=900) == pytest.approx(truth, abs=1e-12)
    p, q = direct.support
    supported = q + truth * (p - q)
    assert channel.standard_errors(truth, reports=900) == pytest.approx(
        np.sqrt(supported * (1 - supported) / 900) / (p - q), rel=1e-6
    )
    noise = (truth * p * (1 - p) + (1 - truth) * q * (1 - q)) / (p - q) ** 2
    assert channel.noise(truth) == pytest.approx(noise, rel=1e-6)


def test_without_full_rank_no_frequencies_follow() -> None:
    middle = [0.45, 0.35, 0.2]
    channel = ChannelResponse(table=exact_rows([[0.7, 0.2, 0.1], middle, [0.2, 0.5, 0.3]]))
    assert (channel.rank, channel.identifies) == (2, False)
    with pytest.raises(ParameterError, match="do not follow from outputs of rank 2"):
        channel.estimate(np.ones(3), reports=3)


@pytest.mark.parametrize(
    "word", ["channel:table=1:0", "channel:table=a:b/1:0", "channel:rows=3", "channel:table=1:0/0:1"]
)
def test_a_table_in_one_word_that_is_none_says_what_would_be_right(word: str) -> None:
    with pytest.raises(ParameterError, match="write it like channel:table="):
        read_mechanism(word)


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
