"""What a collection file says of its questions, and what follows for each attribute."""

from __future__ import annotations

from typing import get_args

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.spec import AnySampledSpec
from stream_ldp.mechanisms import HalfSpaceResponse, PiecewiseResponse
from stream_ldp.questions.oracles import VALUE_ORACLES
from tests.marginals.examples import TEXT, collection_of


def of(mechanism: str) -> list[tuple[tuple[int, ...], str]]:
    return [(each.of, each.randomizer.title) for each in collection_of(mechanism).questions.questions]


def test_every_attribute_has_its_questions() -> None:
    assert of("epsilon: 2, mean: minimax") == [
        ((0,), "direct"),
        ((1,), "piecewise, 42 of 106"),
        ((2,), "direct"),
    ]


def test_a_file_may_name_every_oracle_and_no_other() -> None:
    named = {word for spec in get_args(AnySampledSpec) for word in get_args(spec.model_fields["oracle"].annotation)}
    assert named == {*VALUE_ORACLES, "w-rr", "o-rr", "o-rappor", "loloha", "channel", "d-bit-flip"}


def test_numbers_are_asked_for_by_a_square_wave() -> None:
    assert of("epsilon: 2")[1:2] == [((1,), "square wave, 33 of 161")]


def test_numbers_may_be_asked_for_by_a_coin_or_all_at_once() -> None:
    assert of("epsilon: 2, mean: harmony-mean")[1:2] == [((1,), "coin")]
    assert of("epsilon: 2, mean: mean-est")[1:2] == [((1,), "half-space of 1 signs")]


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("epsilon: 0", "greater than 0"),
        ("epsilon: nan", "finite number"),
        ("epsilon: 50", "beyond the resolution"),
        ("epsilon: 1e-12", "beyond the resolution"),
        ("oracle: k-rr", "give either `epsilon`, or `distortion`"),
        ("epsilon: 1, distortion: 0.1", "give either `epsilon`, or `distortion`"),
        ("distortion: 0.1", "`distortion` and `table` are for values; numbers and candidates need `epsilon`"),
        (
            "distortion: 0.1, oracle: hadamard",
            "mechanism.distortion: hadamard has no distortion, which is for auto, k-rr, w-rr and channel",
        ),
        ("epsilon: 1, oracle: olh", "expected one of 'auto', 'k-rr'"),
        ("epsilon: 1, oracle: w-rr", "w-rr is for two values, and there are 3"),
        ("epsilon: 1, hash_bits: 2", "auto has no hash_bits, which is for hadamard and s-hist: leave it out"),
        ("epsilon: 1, oracle: hadamard, hash_bits: 9", "a hash has 1 to 8 bits"),
        (
            "epsilon: 1, oracle: k-rr, cohorts: 4",
            "k-rr has no cohorts, which is for auto, o-rr, o-rappor, loloha and rappor: leave it out",
        ),
        ("epsilon: 1, oracle: o-rr, hashes: 2", "o-rr has no hashes, which is for rappor: leave it out"),
        ("epsilon: 1, oracle: rappor, hashes: 2, p: 0.25", "takes `hashes`, and both `p` and `q`"),
        ("epsilon: 1, oracle: rappor, p: 0.25, q: 0.75", "takes `hashes`, and both `p` and `q`"),
        ("epsilon: 1, oracle: rappor, hashes: 3", "less than or equal to 2"),
        ("epsilon: 1, oracle: o-rr, cohorts: 5000", "less than or equal to 4096"),
        ("epsilon: 1, mean: median", "expected 'auto', 'minimax', 'harmony-mean' or 'mean-est'"),
        ("epsilon: 2, per_report: 1", "`per_report` is for values in a list"),
        (
            "epsilon: 2, per_report: 1, oracle: hadamard",
            "hadamard has no per_report, which is for auto, k-rr, w-rr and loloha: leave it out",
        ),
        ("epsilon: 2, per_report: 1, oracle: loloha", "loloha hashes values: give numbers `bins`"),
        ("epsilon: 2, oracle: loloha", "loloha needs per_report: nats that one report may cost, less than `epsilon`"),
        (
            "epsilon: 1, per_report: 2, oracle: loloha",
            "mechanism.per_report: one report may cost less than all: 2.0 is not below epsilon, 1.0",
        ),
        (
            "epsilon: 1, per_report: 1, oracle: k-rr",
            "mechanism.per_report: one report may cost less than all: 1.0 is not below epsilon, 1.0",
        ),
        ("epsilon: 2, per_report: 1, oracle: loloha, buckets: 1", "greater than or equal to 2"),
        ("distortion: 0.1, per_report: 1", "`per_report` needs a lifetime `epsilon` and oracle k-rr"),
        ("epsilon: 1, ask: pairs", "expected 'attributes'"),
        ("epsilon: 1, k: 3", "unknown key"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(mechanism: str, message: str) -> None:
    with pytest.raises(CollectionError) as raised:
        collection_of(mechanism)
    assert message in str(raised.value)
    assert "<collection>:3:" in str(raised.value)


def test_randomizers_are_of_the_epsilon_that_was_asked_for() -> None:
    for mean, kind in (("auto", PiecewiseResponse), ("mean-est", HalfSpaceResponse)):
        questions = collection_of(f"epsilon: 1.5, mean: {mean}").questions
        assert isinstance(questions.questions[1].randomizer, kind)
        assert all(1.5 - 1e-7 < each.randomizer.epsilon <= 1.5 for each in questions.questions)


def test_a_response_for_means_without_a_number_is_refused() -> None:
    text = TEXT.format(mechanism="epsilon: 2, mean: minimax", window="").replace(
        "range: [0, 100]", "bins: [0, 50, 100]"
    )
    with pytest.raises(CollectionError, match="is for attributes with a `range`, and there are none: leave it out"):
        SampledCollection.parse(text)
