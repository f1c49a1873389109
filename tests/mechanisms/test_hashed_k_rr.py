"""k-RR of hashed values: how its cohorts hash, what changes cost in the ledger and exactly, and what is estimated."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.audit.record_mechanism import AuditedRecords
from stream_ldp.audit.record_reports import record_differences
from stream_ldp.audit.wire.records import Records
from stream_ldp.collection.located import parse_values
from stream_ldp.errors import ParameterError
from stream_ldp.ledger.ledger import Spending, charged
from stream_ldp.mechanisms import HashedKRR, Mechanism, PermanentWords, SeededEntropy
from stream_ldp.mechanisms.hashed_k_rr import BUCKETS, hashes
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from tests.audit import broken

WHOLE = 2**32
TAG_KEY = bytes(range(32))


def document(buckets: int, *, values: int) -> dict[str, object]:
    return {
        "collection": "home",
        "mechanism": {"kind": "hashed-k-rr", "epsilon": 2.0, "per_report": 1.0, "buckets": buckets},
        "attributes": [{"name": "town", "values": [f"t{number}" for number in range(values)]}],
        "window": {"size": "60s"},
        "estimates": [{"name": "all", "of": ["town"]}],
    }


@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("size", [2, 3, 8, 14, 40])
def test_any_two_values_share_their_bucket_in_as_many_cohorts(buckets: int, size: int) -> None:
    table = hashes(size, buckets)
    shared = {int((table[:, one] == table[:, other]).sum()) for one, other in itertools.combinations(range(size), 2)}
    digits = next(count for count in itertools.count(1) if buckets**count >= size)
    assert shared == {(buckets ** (digits - 1) - 1) // (buckets - 1)}
    assert len(table) == (buckets**digits - 1) // (buckets - 1)
    mechanism = HashedKRR(sizes=(size,), attribute_epsilon=2.0, report_epsilon=1.0, buckets=buckets)
    (support,) = mechanism.supports
    chances = [own / WHOLE for own in (mechanism.response.kept[0], mechanism.response.fresh[0])]
    others = min(size, buckets) - 1
    own = chances[0] * chances[1] + (1 - chances[0]) * (1 - chances[1]) / others
    assert support.one == pytest.approx(own)
    among = shared.pop() / len(table)
    assert support.zero == pytest.approx(among * own + (1 - among) * (1 - own) / others)


def of_buckets(client: Records, sequence: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """P(what is sent | the buckets of a user's reports), from the words alone that make each outcome."""
    (size,), (kept,), fresh = client.buckets, client.kept, client.fresh
    assert fresh is not None

    def law(chance: int, bucket: int) -> list[Fraction]:
        other = Fraction(WHOLE - chance, WHOLE * (size - 1))
        return [Fraction(chance, WHOLE) if each == bucket else other for each in range(size)]

    found = {}
    for sent in itertools.product(range(size), repeat=len(sequence)):
        total = Fraction(1)
        for bucket in set(sequence):
            shown = [each for each, held in zip(sent, sequence, strict=True) if held == bucket]
            named = law(kept, bucket)
            total *= sum(named[a] * math.prod(law(fresh[0], a)[each] for each in shown) for a in range(size))
        found[sent] = total
    return found


def alike(size: int, reports: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of sequences of buckets that change at the same times."""
    for first in itertools.product(range(size), repeat=reports):
        for names in itertools.permutations(range(size)):
            yield first, tuple(names[each] for each in first)


@pytest.mark.parametrize(("buckets", "values", "changes"), [(2, 4, 0), (2, 4, 1), (2, 4, 3), (3, 4, 1), (3, 4, 2)])
def test_the_ledger_charges_what_reports_lose_by_enumeration(buckets: int, values: int, changes: int) -> None:
    """From records to the ledger, against the probabilities that the second hand's words have."""
    collection = parse_values(JointCollection, document(buckets, values=values))
    client = Records(document(buckets, values=values))
    reports = max(2, changes + 1)
    laws = {each: of_buckets(client, each) for each in itertools.product(range(buckets), repeat=reports)}
    largest: dict[int, float] = {}
    for first, second in alike(buckets, reports):
        one, other = laws[first], laws[second]
        loss = math.log(max(one[sent] / other[sent] for sent in one))
        largest[len(set(first))] = max(largest.get(len(set(first)), 0.0), loss)
    for number in range(64):
        secret = bytes([number]) * 32
        held = [min(place, changes) % values for place in range(reports)]
        buckets_held = {client.charged(secret, {"town": f"t{value}"})[0] for value in held}
        charged = Spending().after(charges(collection, [[v] for v in held], secret=secret, tag_key=TAG_KEY)).epsilon
        assert charged == pytest.approx(largest[len(buckets_held)], rel=1e-9)
    # All buckets, however often the value changes.
    assert charged <= buckets * 2.0


def test_no_number_of_changes_costs_more_than_all_buckets() -> None:
    collection = parse_values(JointCollection, document(3, values=9))
    table = [[number % 9] for number in range(900)]
    spent = Spending().after(charges(collection, table, secret=bytes(32), tag_key=TAG_KEY)).epsilon
    assert spent == pytest.approx(3 * 2.0, rel=1e-6)
    assert spent <= 3 * 2.0
    without = Spending().after(charges(collection, table[:20], secret=bytes(32), tag_key=None)).epsilon
    assert without == pytest.approx(20 * 1.0, rel=1e-6)


def test_a_change_within_a_bucket_costs_nothing_and_repeats_the_response() -> None:
    collection = parse_values(JointCollection, document(2, values=8))
    secret = bytes(range(32))
    words = collection.words.words_of([secret] * 8, np.arange(8)[:, None])
    assert (words == words[0]).all()
    shown = collection.mechanism.shown(np.arange(8)[:, None], words)[:, 0]
    one, other = np.flatnonzero(shown == shown[0])[:2].tolist()
    once = Spending().after(charges(collection, [[one]] * 2, secret=secret, tag_key=TAG_KEY)).epsilon
    changed = Spending().after(charges(collection, [[one], [other]], secret=secret, tag_key=TAG_KEY)).epsilon
    assert changed == once
    first, second = (
        collection.mechanism.perturb(np.array([[value]]), entropy=SeededEntropy(1), permanent_words=words[:1])
        for value in (one, other)
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("buckets", [2, 3, 5])
def test_the_support_of_values_and_of_pairs_of_them_is_what_is_stated(buckets: int) -> None:
    """Of 200,000 users, each share within five standard errors: 60 shares fail by chance once in 30,000 runs."""
    users, sizes = 200_000, (6, 4)
    mechanism = HashedKRR(sizes=sizes, attribute_epsilon=3.0, report_epsilon=2.0, buckets=buckets)
    record = np.tile([4, 1], (users, 1))
    rows = mechanism.perturb(record, entropy=SeededEntropy(buckets))
    assert mechanism.valid(rows).all()
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")[:, mechanism.columns([0, 1])]
    supported = mechanism.supported(bits, [0, 1]).astype(np.float64)
    expected = [
        np.where(np.arange(size) == own, support.one, support.zero)
        for size, own, support in zip(sizes, (4, 1), mechanism.supports, strict=True)
    ]
    wanted = np.concatenate(expected)
    assert np.abs(supported.mean(axis=0) - wanted).max() < 5 * 0.5 / math.sqrt(users)
    pairs = supported[:, :6].T @ supported[:, 6:] / users
    assert np.abs(pairs - np.outer(*expected)).max() < 5 * 0.5 / math.sqrt(users)


def audited(mechanism: Mechanism) -> AuditedRecords:
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    words = PermanentWords(
        collection="audited", attributes=attributes, noise=mechanism.noise, counts=mechanism.words, by_value=False
    )
    return AuditedRecords(mechanism=mechanism, words=words, charged=charged)


def test_the_audit_claims_what_the_ledger_charges_for_changes() -> None:
    found = audited(HashedKRR(sizes=(4,), attribute_epsilon=2.0, report_epsilon=1.0)).enumerated()
    assert not found.differences
    assert all(claim.holds for claim in found.claims)
    losses = {(claim.about["neighbours"], claim.about["reports"]): claim.enumerated for claim in found.claims}
    assert losses["attribute 0, users who change at the same times, 1 change", math.inf] == pytest.approx(
        4.0, rel=1e-6
    )
    # What a change itself shows is more than that, and is listed beside it.
    assert found.changing
    assert found.changing[-1]["enumerated"] > 2 * found.changing[-1]["if_constant"]


def test_a_client_that_draws_anew_for_each_value_is_caught() -> None:
    twin = broken.NamesEachValueAnew(sizes=(4, 2), attribute_epsilon=2.0, report_epsilon=1.0)
    found = audited(twin).enumerated()
    assert any("two values that are charged as one have different" in each for each in found.differences)
    honest = HashedKRR(sizes=(4, 2), attribute_epsilon=2.0, report_epsilon=1.0)
    by_value = PermanentWords(
        collection="audited",
        attributes=[("0", ["a", "b", "c", "d"]), ("1", ["a", "b"])],
        noise=honest.noise,
        counts=honest.words,
    )
    problems = record_differences(honest, by_value, realised=Enumeration.realised(honest))
    assert any("hashed values of one attribute have different words" in each for each in problems)


@pytest.mark.parametrize("buckets", [1, 4, 16])
def test_buckets_that_are_no_prime_are_refused(buckets: int) -> None:
    with pytest.raises(ParameterError, match=r"buckets are a prime, one of 2, 3, 5, 7, 11 and 13, got"):
        HashedKRR(sizes=(4,), attribute_epsilon=2.0, report_epsilon=1.0, buckets=buckets)


def test_symbols_of_no_cohort_support_no_value_and_leave_the_others_as_they_are() -> None:
    mechanism = HashedKRR(sizes=(5, 3), attribute_epsilon=2.0, report_epsilon=1.0)
    assert mechanism.symbol_sizes == (14, 6)
    symbols = np.array([[13, 5], [14, 5], [15, 7]])
    bits = np.concatenate([symbols[:, :1] >> np.arange(4) & 1, symbols[:, 1:] >> np.arange(3) & 1], axis=1)
    found = mechanism.supported(bits.astype(np.uint8), (0, 1))
    table, other = hashes(5, 2)[6] == 1, hashes(3, 2)[2] == 1
    none = [False] * 5, [False] * 3
    assert found.tolist() == [[*table, *other], [*none[0], *other], [*none[0], *none[1]]]
