"""The probabilities that the code realises: those that are stated, to the last of 32 bits."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.audit.enumerate import UnknownDistribution
from stream_ldp.audit.enumeration import Enumeration, realised_reports, stated_reports
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import RESOLUTION, RRLDP, Entropy, GivenWords, SeededEntropy
from stream_ldp.mechanisms.mechanism import Symbols
from tests.audit.broken import NeverClears, NeverClearsOneBit, QuantisesF, SendsInTheClear, SwapsPAndQ

#: The edges of a word's range, where a comparison that is off by one, or a cast, shows.
EDGES = [0, 1, 2, RESOLUTION - 2, RESOLUTION - 1, RESOLUTION]

thresholds = st.one_of(st.sampled_from(EDGES), st.integers(0, RESOLUTION))


def test_nobody_sends_no_rows_of_attributes_that_are_encoded_in_one_step() -> None:
    for attributes, width in ((5, 2), (4, 1)):
        nobody = np.empty((0, attributes), dtype=np.intp)
        made = RRLDP(sizes=(2,) * attributes, f=0.5).perturb(nobody, entropy=SeededEntropy(0))
        assert made.shape == (0, width)


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(2, 9), min_size=1, max_size=4).map(tuple),
    flip=st.one_of(st.sampled_from([1, 2, RESOLUTION // 2 - 1]), st.integers(1, RESOLUTION // 2 - 1)),
    response=st.tuples(thresholds, thresholds).map(sorted).filter(lambda pair: pair[0] < pair[1]),
)
def test_each_bit_has_the_probability_that_the_decoder_assumes(
    sizes: tuple[int, ...], flip: int, response: list[int]
) -> None:
    p, q = response
    # Below it, float64 does not tell the two probabilities of the channel apart, and the channel is refused.
    assume((q - p) * (RESOLUTION - 2 * flip) > 2**24)
    mechanism = RRLDP(sizes=sizes, f=2 * flip / RESOLUTION, p=p / RESOLUTION, q=q / RESOLUTION)
    assert mechanism.thresholds == (flip, p, q)
    found = Enumeration.realised(mechanism)
    assert tuple(map(len, found.attributes)) == sizes
    assert found == Enumeration.stated(mechanism)
    ((stages,),) = [{bit.stages for attribute in found.attributes for bit in attribute}]
    channel = mechanism.channel()
    for true, stated in ((0, channel.zero), (1, channel.one)):
        zero, one = stages.permanent[true]
        assert stated == pytest.approx(float(one * stages.response[1][1] + zero * stages.response[0][1]), abs=1e-15)


@settings(deadline=None)
@given(st.floats(1e-9, 1 - 1e-9))
def test_a_parameter_is_realised_to_within_the_resolution(f: float) -> None:
    mechanism = RRLDP(sizes=(2,), f=f)
    ((bit, _),) = Enumeration.realised(mechanism).attributes
    assert abs(bit.stages.permanent[0][1] - Fraction(f) / 2) <= Fraction(1, 2 * RESOLUTION)


def test_comparisons_with_a_threshold_are_exact() -> None:
    """Without the search for the threshold: on both sides of it, and at both ends."""
    mechanism = RRLDP(sizes=(2,), f=0.3, p=0.25, q=0.75)
    flip, p, q = mechanism.thresholds
    words = np.array([0, flip - 1, flip, RESOLUTION - 1], dtype=np.uint32)
    zeros = np.ones((4, 1), dtype=np.intp)
    given = GivenWords(np.stack([words, words], axis=1))
    assert mechanism.permanent(zeros, given)[:, 0].tolist() == [True, True, False, False]

    bits = np.array([[False, True], [False, True]]).view(np.uint8)
    given = GivenWords(np.array([p - 1, q - 1, p, q], dtype=np.uint32))
    assert mechanism.instantaneous(bits, given).tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("sizes", [(2, 2, 2), (16,), (3, 3), (2, 5, 8), (8, 2)], ids=str)
def test_the_bit_of_each_value_is_set_whatever_the_sizes(sizes: tuple[int, ...]) -> None:
    """With words that invert nothing, a permanent response is the record itself."""
    values = np.stack([np.random.default_rng(1).integers(size, size=5_000) for size in sizes], axis=1)
    mechanism = RRLDP(sizes=sizes, f=0.5)
    words = np.full((len(values), mechanism.bits), 2**32 - 1, dtype=np.uint32)
    rows = mechanism.perturb(values, entropy=SeededEntropy(1), permanent_words=words)
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")
    parts = np.split(bits, np.cumsum(sizes)[:-1], axis=1)
    assert all(np.array_equal(part, values[:, [j]] == np.arange(sizes[j])) for j, part in enumerate(parts))


def test_reports_combine_the_permanent_and_the_instantaneous_response() -> None:
    """All of `perturb`, packing included, against the channel: seeded; by chance, 6 deviations out of 10 million."""
    mechanism = RRLDP(sizes=(2, 3, 5), f=0.3, p=0.2, q=0.7)
    users, record = 200_000, np.array([1, 0, 4])
    rows = mechanism.perturb(np.tile(record, (users, 1)), entropy=SeededEntropy(1))
    ones = np.unpackbits(rows, axis=1, bitorder="little", count=mechanism.bits).mean(axis=0)
    channel = mechanism.channel()
    expected = np.full(mechanism.bits, channel.zero)
    expected[[1, 2, 9]] = channel.one
    assert np.all(np.abs(ones - expected) < 5 * np.sqrt(expected * (1 - expected) / users))


@pytest.mark.parametrize(
    ("kind", "wrong"), [(NeverClears, 5), (NeverClearsOneBit, 1), (QuantisesF, 5), (SwapsPAndQ, 5)]
)
def test_code_that_does_not_do_what_it_states_is_caught(kind: type[RRLDP], wrong: int) -> None:
    broken = kind(sizes=(2, 3), f=0.3, p=0.2, q=0.8)
    realised, stated = (
        itertools.chain(*found.attributes) for found in (Enumeration.realised(broken), Enumeration.stated(broken))
    )
    assert sum(one != other for one, other in zip(realised, stated, strict=True)) == wrong
    assert realised_reports(broken) != stated_reports(broken)


def test_a_report_from_record_to_packed_row_has_the_stated_probabilities() -> None:
    mechanism = RRLDP(sizes=(2, 3), f=0.3, p=0.2, q=0.8)
    realised = realised_reports(mechanism)
    assert realised == stated_reports(mechanism)
    assert {sum(outputs.values()) for outputs in realised.values()} == {1}


def test_a_record_that_is_sent_in_the_clear_is_caught() -> None:
    broken = SendsInTheClear(sizes=(2, 3), f=0.3, p=0.2, q=0.8)
    assert Enumeration.realised(broken) == Enumeration.stated(broken)
    assert realised_reports(broken) != stated_reports(broken)


class _RawWords(RRLDP):
    """Decides by the lowest bit of a word."""

    def permanent(self, values: NDArray[np.intp], source: Entropy) -> Symbols:
        words: NDArray[np.uint32] = source.words(self.bits)  # type: ignore[attr-defined]  # that is the point
        return (words % 2).astype(np.uint8).reshape(1, -1)


def test_a_mechanism_that_takes_raw_words_is_refused() -> None:
    with pytest.raises(UnknownDistribution):
        Enumeration.realised(_RawWords(sizes=(2, 3), f=0.3, p=0.2, q=0.8))


def _probability(reports: tuple[int, ...], flip: float, response: tuple[float, float], *, held: int) -> float:
    """Compute P(the reports of one bit, in this order), summed over what the permanent bit may be."""
    total = 0.0
    for permanent in (0, 1):
        one = response[permanent]
        told = np.prod([one if bit else 1 - one for bit in reports])
        total += (1 - flip if permanent == held else flip) * float(told)
    return total


@pytest.mark.parametrize("pq", [(0.25, 0.75), (0.0, 0.5), (0.5, 1.0)])
def test_linked_odds_are_those_of_all_reports_of_a_bit_enumerated(pq: tuple[float, float]) -> None:
    mechanism = RRLDP(sizes=(2,), f=0.25, p=pq[0], q=pq[1])
    for reports in itertools.chain.from_iterable(itertools.product((0, 1), repeat=n) for n in range(1, 6)):
        held, other = (_probability(reports, mechanism.flip, mechanism.response, held=bit) for bit in (1, 0))
        if held + other == 0.0:
            continue
        (odds,) = mechanism.linked_odds(np.array([[sum(reports)]]), np.array([len(reports)]))[0]
        assert odds == pytest.approx(held / other, rel=1e-12)


def test_linked_odds_never_exceed_those_of_the_permanent_response() -> None:
    mechanism = RRLDP(sizes=(2,), f=0.25, p=0.25, q=0.75)
    bound = (1 - mechanism.flip) / mechanism.flip
    odds = mechanism.linked_odds(np.array([[0, 10**6]]), np.array([10**6]))
    assert odds.tolist() == [[pytest.approx(1 / bound), pytest.approx(bound)]]
    # Reports that no permanent bit can have made settle nothing.
    impossible = RRLDP(sizes=(2,), f=0.25, p=0.0, q=0.999_999_999)
    assert np.isfinite(impossible.linked_odds(np.array([[1, 0]]), np.array([2]))).all()


def test_reports_that_are_copies_have_nothing_to_link() -> None:
    mechanism = RRLDP(sizes=(2,), f=0.25)
    assert not mechanism.links
    with pytest.raises(ParameterError, match="the joint likelihood of several RR-LDP reports of a user is unknown"):
        mechanism.linked_odds(np.array([[1, 1]]), np.array([1]))
