"""k-Subset for records: what it costs in any order of the values, what it may be, and its error beside others."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.audit.record_mechanism import AuditedRecords
from stream_ldp.audit.wire.records import Records
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import (
    KRR,
    RRLDP,
    GivenWords,
    KSubset,
    KSubsetSpec,
    Mechanism,
    NotCovered,
    OSEntropy,
    PermanentWords,
    SeededEntropy,
    Values,
)
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.plan import cell_error
from tests.audit import broken

WHOLE = 2**32


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_a_set_loses_no_more_than_epsilon_in_any_order_of_the_values(order: tuple[int, ...]) -> None:
    """Exact: every stretch of words that makes one set is counted, by its edges, for one order of the values.

    So epsilon holds however the words that order the values are distributed, and if some of them are equal.
    """
    mechanism = KSubset(sizes=(4,), attribute_epsilon=0.5)
    ((kept,), (run,)) = mechanism.kept, mechanism.runs
    edges = [0, -(-kept // 2), kept, kept + run, WHOLE]
    laws = []
    for value in range(4):
        law: dict[int, int] = {}
        for begin, end in itertools.pairwise(edges):
            made = {
                int(
                    mechanism.permanent(np.array([[value]]), GivenWords(np.array([*order, word], dtype=np.uint32)))[
                        0, 0
                    ]
                )
                for word in (begin, end - 1)
            }
            (held,) = made
            assert (held >> value & 1) == (begin < kept)
            law[held] = end - begin
        assert sum(law.values()) == WHOLE
        laws.append(law)
    worst = max(Fraction(one[held], other[held]) for one, other in itertools.permutations(laws, 2) for held in one)
    assert math.log(worst) <= mechanism.epsilon() <= 0.5
    assert math.log(worst) == pytest.approx(0.5, abs=1e-8)


def test_equal_words_leave_values_in_their_order() -> None:
    mechanism = KSubset(sizes=(4,), attribute_epsilon=0.5)
    words = np.array([[7, 7, 7, 7, 0], [9, 7, 7, 7, 0]], dtype=np.uint32)
    held = mechanism.permanent(np.array([[1], [1]]), GivenWords(words))
    assert held.tolist() == [[0b0110], [0b0110]]


@given(
    sizes=st.lists(st.integers(2, 62), min_size=1, max_size=4).map(tuple),
    epsilon=st.one_of(st.floats(0.01, 12), st.sampled_from([0.5, 1.0, 10.0])),
)
def test_no_more_is_spent_than_was_asked_for_and_as_the_specification_has_it(
    sizes: tuple[int, ...], epsilon: float
) -> None:
    mechanism = KSubset(sizes=sizes, attribute_epsilon=epsilon)
    attributes = [{"name": f"a{place}", "values": list(map(str, range(size)))} for place, size in enumerate(sizes)]
    written = Records(
        {
            "collection": "c",
            "mechanism": {"kind": "k-subset", "epsilon": epsilon},
            "attributes": attributes,
            "window": {"size": "60s"},
        }
    )
    assert (list(mechanism.members), list(mechanism.kept)) == (written.members, written.kept)
    spent = mechanism.epsilon(neighbours=1)
    assert epsilon * (1 - 1e-3) <= spent <= epsilon
    assert mechanism.epsilon() <= len(sizes) * epsilon
    spec = KSubsetSpec(kind="k-subset", epsilon=epsilon)
    assert mechanism.epsilon(reports=math.inf) <= spec.responses_loss(responses=len(sizes), reports=1)


def moments(mechanism: Mechanism, size: int) -> float:
    return cell_error(mechanism.supports, (size,), reports=1) ** 2


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0])
def test_its_error_is_never_above_that_of_k_rr_or_a_one_hot_code(epsilon: float) -> None:
    """Exact, of the unbiased estimate of a value on average over a uniform population, by the channel alone."""
    for size in (2, 3, 4, 6, 8, 11, 16, 33, 62):
        own = moments(KSubset(sizes=(size,), attribute_epsilon=epsilon), size)
        assert own <= moments(KRR(sizes=(size,), attribute_epsilon=epsilon), size) * (1 + 1e-6)
        assert own <= moments(RRLDP(sizes=(size,), f=2 / (1 + math.exp(epsilon / 2))), size) * (1 + 1e-6)
    sixteen = moments(KSubset(sizes=(16,), attribute_epsilon=1.0), 16)
    assert sixteen < 0.55 * moments(KRR(sizes=(16,), attribute_epsilon=1.0), 16)


def test_another_number_of_members_would_have_a_larger_error() -> None:
    for size, epsilon in ((8, 0.5), (16, 1.0), (33, 2.0)):
        (members,) = KSubset(sizes=(size,), attribute_epsilon=epsilon).members
        fewer = KSubset(sizes=(size,), attribute_epsilon=epsilon, held=members - 1)
        assert fewer.members == (members - 1,)
        assert moments(KSubset(sizes=(size,), attribute_epsilon=epsilon), size) < moments(fewer, size)


def test_repeated_reports_tell_nothing_more_and_a_change_shows() -> None:
    mechanism = KSubset(sizes=(4, 2), attribute_epsilon=0.5)
    assert mechanism.epsilon(reports=30) == mechanism.epsilon(reports=1) == mechanism.epsilon(reports=math.inf)
    assert Enumeration.realised(mechanism).changing_epsilon(neighbours=1, reports=2) == math.inf
    with pytest.raises(NotCovered, match="a change of a record shows in k-subset"):
        mechanism.privacy_loss(reports=2, values=Values.CHANGING)


def test_only_rows_with_as_many_members_of_each_attribute_are_reports() -> None:
    mechanism = KSubset(sizes=(4, 2), attribute_epsilon=0.5)
    rows = np.arange(256, dtype=np.uint8)[:, None]
    expected = [row < 64 and (row & 15).bit_count() == 2 and (row >> 4).bit_count() == 1 for row in range(256)]
    assert mechanism.valid(rows).tolist() == expected


@pytest.mark.parametrize(
    ("sizes", "epsilon", "message"),
    [
        ((1, 2), 1.0, "at least 2 values"),
        ((63, 2), 1.0, "at most 62 values.*group the values, or take rr-ldp"),
        ((2,), 0.0, "positive and finite"),
        ((2, 9), 1e-12, "beyond the resolution of 2.-32 with 9 values: 3.78e-8 to 22.1 would do"),
        ((9,), 23.0, "beyond the resolution"),
    ],
)
def test_impossible_parameters_are_refused(sizes: tuple[int, ...], epsilon: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        KSubset(sizes=sizes, attribute_epsilon=epsilon)


def test_the_epsilons_that_a_refusal_names_are_accepted() -> None:
    for size in (2, 9, 33, 62):
        for epsilon in (math.log1p(2 * size**2 / WHOLE), math.log(WHOLE - size)):
            assert KSubset(sizes=(size,), attribute_epsilon=epsilon).epsilon() <= epsilon


def test_a_budget_is_shared_out_to_the_attributes_and_one_report_costs_all_of_it() -> None:
    spec = KSubsetSpec.for_budget(sizes=(2, 3, 4), lifetime=6.0, per_report=None)
    assert spec.epsilon == 2.0
    assert spec.of(sizes=(2, 3, 4)).epsilon(reports=math.inf) <= 6.0
    with pytest.raises(ParameterError, match=r"one report by k-subset costs as much as all: leave out per_report"):
        KSubsetSpec.for_budget(sizes=(2, 3), lifetime=4.0, per_report=1.0)


def test_a_file_may_not_have_a_second_noise() -> None:
    document = {
        "collection": "c",
        "mechanism": {"kind": "k-subset", "epsilon": 2.0, "per_report": 1.0},
        "attributes": [{"name": "a", "values": ["x", "y"]}],
        "window": {"size": "60s"},
        "estimates": [{"name": "a", "of": ["a"]}],
    }
    with pytest.raises(ValueError, match="per_report"):
        JointCollection.model_validate(document)


def audit_of(mechanism: KSubset) -> AuditedRecords:
    words = PermanentWords(
        collection="c",
        attributes=[(f"a{place}", list(map(str, range(size)))) for place, size in enumerate(mechanism.sizes)],
        noise=mechanism.noise,
        counts=mechanism.words,
    )
    return AuditedRecords(mechanism=mechanism, words=words)


def test_wide_attributes_are_audited_by_a_small_form() -> None:
    """Of 16 values there are 8,008 sets: four values are enumerated, and the words of all 16 are compared."""
    mechanism = KSubset(sizes=(16, 2), attribute_epsilon=0.5)
    audited = audit_of(mechanism)
    exact = audited.enumerated()
    assert exact.differences == ()
    assert exact.miniature is not None
    assert mechanism.small().members == (2, 1)
    for claim in exact.claims:
        assert claim.enumerated == pytest.approx(claim.claimed, abs=1e-8)
        assert claim.enumerated <= claim.claimed
    assert audited.attacks(noise=OSEntropy, secrets=SeededEntropy(0))


@pytest.mark.parametrize(
    ("sizes", "epsilon", "small", "members"),
    [
        # Sets of 1, 2 and 3 members: the first two attributes alone would leave sets of one.
        ((2, 8, 12), 1.0, (4, 2), (2, 1)),
        # Sets of 2 members, of which four values at this epsilon would have but one.
        ((2, 16), 2.0, (4, 2), (2, 1)),
        ((12,), 1.0, (4,), (2,)),
        ((2, 6), 4.0, (4, 2), (1, 1)),
    ],
)
def test_the_small_form_has_sets_of_two_members_if_the_wide_one_has(
    sizes: tuple[int, ...], epsilon: float, small: tuple[int, ...], members: tuple[int, ...]
) -> None:
    mechanism = KSubset(sizes=sizes, attribute_epsilon=epsilon)
    assert (mechanism.small().sizes, mechanism.small().members) == (small, members)
    assert (max(members) > 1) == (max(mechanism.members) > 1)
    for neighbours in range(1, len(small) + 1):
        enumerated = Enumeration.realised(mechanism.small()).epsilon(neighbours=neighbours, reports=1)
        assert enumerated <= neighbours * epsilon
        assert enumerated == pytest.approx(neighbours * epsilon, abs=1e-6)


def test_a_fault_of_sets_of_two_is_found_in_the_small_form() -> None:
    """With the first two attributes, of 2 values each, every set would have one member, and the fault would hide."""
    mechanism = broken.NeverPairsItsFirstTwo(sizes=(2, 8, 12), attribute_epsilon=1.0)
    (first, *_) = audit_of(mechanism).enumerated().differences
    assert "not drawn with the stated probabilities" in first
