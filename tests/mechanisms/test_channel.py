"""A channel: what its table may be, what it loses, and which frequencies follow from its outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import ChannelResponse, DirectResponse, GivenWords
from stream_ldp.mechanisms.channel import exact_rows
from stream_ldp.mechanisms.notation import read_mechanism

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
