"""Every mechanism keeps this contract: privacy, unbiased estimates with true errors, merging, round trips.

Simulations are seeded; each states how often a right mechanism would fail with another seed.
"""

import dataclasses
import functools
import hashlib
import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.audit.attacks import Attack, attacks
from stream_ldp.audit.enumeration import Enumeration, realised_reports, stated_reports
from stream_ldp.audit.oracle_attacks import randomizer_attacks
from stream_ldp.audit.output_distribution import (
    all_sets,
    epsilon_of,
    realised_distribution,
    realised_set_distribution,
)
from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import (
    KRR,
    MECHANISMS,
    RANDOMIZERS,
    RRLDP,
    FrequencyOracle,
    HadamardResponse,
    Mechanism,
    PermanentWords,
    Randomizer,
    SeededEntropy,
    SetHadamardResponse,
    SubsetResponse,
    new_secret,
    notation,
)
from stream_ldp.mechanisms.notation import read_mechanism
from stream_ldp.mechanisms.randomizer import OutputDistribution
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from tests.catalogue import OF_NUMBERS, OF_RECORDS, OF_VALUES

of_records = pytest.mark.parametrize("mechanism", [each for each, _ in OF_RECORDS], ids=repr)
of_randomizers = pytest.mark.parametrize(
    "randomizer", dict.fromkeys(each for each, _ in [*OF_VALUES, *OF_NUMBERS]), ids=repr
)
of_values = pytest.mark.parametrize("oracle", [each for each, _ in OF_VALUES], ids=repr)


def test_every_mechanism_of_the_package_is_in_the_catalogue() -> None:
    assert {type(each) for each, _ in [*OF_VALUES, *OF_NUMBERS]} == set(RANDOMIZERS)
    catalogued = {type(each) for each, _ in OF_RECORDS}
    assert catalogued == {type(read_mechanism(notation.OF_RECORDS[kind])) for kind in MECHANISMS}


def epsilon_of_reports(reports: dict[tuple[int, ...], dict[bytes, Fraction]]) -> float:
    outputs = sorted(set().union(*reports.values()))
    table = [[row.get(output, Fraction(0)) for output in outputs] for row in reports.values()]
    return epsilon_of(np.array(table, dtype=object))


@of_records
def test_a_record_loses_exactly_the_stated_epsilon(mechanism: Mechanism) -> None:
    realised = Enumeration.realised(mechanism)
    assert realised == Enumeration.stated(mechanism)
    for neighbours, reports in itertools.product(range(1, len(mechanism.sizes) + 1), (1, 2, math.inf)):
        claimed = mechanism.epsilon(neighbours=neighbours, reports=reports)
        assert realised.epsilon(neighbours=neighbours, reports=reports) == pytest.approx(claimed, abs=1e-9, rel=0)


@of_records
def test_a_report_from_record_to_packed_row_is_distributed_as_stated(mechanism: Mechanism) -> None:
    realised = realised_reports(mechanism)
    assert realised == stated_reports(mechanism)
    assert epsilon_of_reports(realised) == pytest.approx(mechanism.epsilon(), abs=1e-9, rel=0)


@functools.lru_cache
def realised_outputs(randomizer: Randomizer) -> OutputDistribution:
    """Return the distribution of every set, where the randomizer takes sets, else of every input."""
    if not isinstance(randomizer, FrequencyOracle) or randomizer.set_slots is None:
        return realised_distribution(randomizer)
    return realised_set_distribution(randomizer, all_sets(randomizer.size), padding=randomizer.set_slots)


def stated_outputs(randomizer: Randomizer) -> OutputDistribution:
    if not isinstance(randomizer, FrequencyOracle) or randomizer.set_slots is None:
        return randomizer.stated()
    return randomizer.stated_sets(all_sets(randomizer.size), padding=randomizer.set_slots)


class CountingEntropy(SeededEntropy):
    """A seeded source that counts how often it is asked, and for how much."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[int] = []

    def words(self, n: int) -> NDArray[np.uint32]:
        if n:
            self.asked.append(n)
        return super().words(n)


@of_randomizers
def test_as_much_is_drawn_for_every_outcome(randomizer: Randomizer) -> None:
    """A draw that one outcome alone needs takes time, which whoever shares the machine could measure.

    A word is drawn again where it lies beyond the last multiple of a range: here once in 10^6 runs of the test, and
    whatever the outcome is.
    """
    if isinstance(randomizer, SubsetResponse):
        pytest.skip("permanent subsets are drawn member by member, and one that holds the user's own needs one less")
    asked, rows = set(), set()
    # Dummies are left out: their hash is drawn, which tells of the set's size and not of the outcome.
    values = randomizer.size if isinstance(randomizer, FrequencyOracle) else randomizer.inputs
    for value in range(min(values, 4)):
        for seed in range(40):
            entropy = CountingEntropy(seed)
            row = randomizer.perturb(np.array([value]), entropy=entropy)
            rows.add(row.tobytes())
            asked.add(tuple(entropy.asked))
    assert len(rows) > 1
    assert len(asked) == 1, asked


@of_records
def test_as_much_is_drawn_for_every_outcome_of_a_record(mechanism: Mechanism) -> None:
    asked = set()
    for last in (False, True):
        record = np.array([[size - 1 if last else 0 for size in mechanism.sizes]])
        for seed in range(20):
            entropy = CountingEntropy(seed)
            mechanism.perturb(record, entropy=entropy)
            asked.add(tuple(entropy.asked))
    assert len(asked) == 1, asked


@of_randomizers
def test_an_input_or_a_set_loses_exactly_the_stated_epsilon(randomizer: Randomizer) -> None:
    assert np.array_equal(realised_outputs(randomizer), stated_outputs(randomizer))
    assert epsilon_of(realised_outputs(randomizer)) == pytest.approx(randomizer.epsilon, abs=1e-9, rel=0)


def rows_of(reports: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(len(reports), -1)


def supported_by(mechanism: Mechanism, rows: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the unbiased estimate of each value of each attribute by each row, shape (n, sum of sizes)."""
    everything = range(len(mechanism.sizes))
    bits = np.unpackbits(rows, axis=1, count=mechanism.bits, bitorder="little")[:, mechanism.columns(everything)]
    zero = np.repeat([each.zero for each in mechanism.supports], mechanism.sizes)
    one = np.repeat([each.one for each in mechanism.supports], mechanism.sizes)
    unbiased: NDArray[np.float64] = (mechanism.supported(bits, everything) - zero) / (one - zero)
    return unbiased


def one_hot(mechanism: Mechanism, record: Sequence[int]) -> NDArray[np.float64]:
    columns = [np.arange(size) == value for size, value in zip(mechanism.sizes, record, strict=True)]
    return np.concatenate(columns).astype(np.float64)


@of_records
def test_the_estimate_of_a_record_is_unbiased(mechanism: Mechanism) -> None:
    for record, outputs in realised_reports(mechanism).items():
        probabilities = np.array([float(each) for each in outputs.values()])
        mean = probabilities @ supported_by(mechanism, rows_of(list(outputs)))
        assert mean == pytest.approx(one_hot(mechanism, record), abs=1e-9)


@of_records
def test_values_are_distinguished_by_support_and_one_ratio(mechanism: Mechanism) -> None:
    """P(report | a value) over that of the likeliest value is 1 where it is supported, and the ratio elsewhere."""
    reports = realised_reports(mechanism)
    ends = np.cumsum(mechanism.sizes)[:-1]
    for output in set().union(*reports.values()):
        everything = range(len(mechanism.sizes))
        bits = np.unpackbits(rows_of([output]), axis=1, count=mechanism.bits, bitorder="little")
        supported = mechanism.supported(bits[:, mechanism.columns(everything)], everything)[0]
        for attribute, values in enumerate(np.split(supported, ends)):
            likelihood = np.array(
                [
                    float(reports[tuple(value if place == attribute else 0 for place in everything)].get(output, 0))
                    for value in range(mechanism.sizes[attribute])
                ]
            )
            # Where no value is supported, all of them are equally likely.
            expected = np.where(values | ~values.any(), 1.0, mechanism.supports[attribute].ratio)
            assert likelihood / likelihood.max() == pytest.approx(expected, abs=1e-9)


@of_values
def test_the_estimate_of_a_frequency_is_unbiased(oracle: FrequencyOracle) -> None:
    """Sets have no more values than an oracle treats alike; of larger ones, values count for less."""
    outputs = oracle.stated().astype(np.float64)
    reports = np.arange(outputs.shape[1], dtype="<u4").view(np.uint8).reshape(-1, 4)[:, : -(-oracle.bits // 8)]
    possible = np.flatnonzero(outputs.any(axis=0))
    p, q = oracle.support
    supports = outputs[:, possible] @ oracle.supported(reports[possible], np.arange(oracle.size))
    expected = np.where(np.arange(len(outputs))[:, None] == np.arange(oracle.size), p, q)
    assert supports == pytest.approx(expected, abs=1e-12)
    counted = np.stack([oracle.supports(oracle.sums(reports[[row]]), reports=1) for row in possible])
    assert np.array_equal(counted == 1, oracle.supported(reports[possible], np.arange(oracle.size)))


@of_records
def test_the_error_of_a_record_is_as_stated(mechanism: Mechanism) -> None:
    """Exact: the variance of the estimate from one report, from the distribution of all reports."""
    one = np.repeat([each.one for each in mechanism.supports], mechanism.sizes)
    zero = np.repeat([each.zero for each in mechanism.supports], mechanism.sizes)
    for record, outputs in realised_reports(mechanism).items():
        probabilities = np.array([float(each) for each in outputs.values()])
        estimates = supported_by(mechanism, rows_of(list(outputs)))
        variance = probabilities @ estimates**2 - (probabilities @ estimates) ** 2
        chance = np.where(one_hot(mechanism, record) == 1, one, zero)
        assert variance == pytest.approx(chance * (1 - chance) / (one - zero) ** 2, rel=1e-9)


@of_values
def test_the_error_of_a_frequency_is_as_stated(oracle: FrequencyOracle) -> None:
    """Exact: the variance of the estimate from one report of each value, from the distribution of all reports."""
    outputs = oracle.stated().astype(np.float64)[: oracle.size]
    reports = np.arange(outputs.shape[1], dtype="<u4").view(np.uint8).reshape(-1, 4)[:, : -(-oracle.bits // 8)]
    possible = np.flatnonzero(outputs.any(axis=0))
    p, q = oracle.support
    estimates = (oracle.supported(reports[possible], np.arange(oracle.size)) - q) / (p - q)
    law = outputs[:, possible]
    variance = law @ estimates**2 - (law @ estimates) ** 2
    stated = [oracle.standard_errors(truth, reports=1) ** 2 for truth in np.eye(oracle.size)]
    assert variance == pytest.approx(np.array(stated), rel=1e-9)


def some_records(mechanism: Mechanism, users: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(mechanism.sizes, size=(users, len(mechanism.sizes)))


@of_records
def test_counts_of_records_merge(mechanism: Mechanism) -> None:
    rows = mechanism.perturb(some_records(mechanism, 500, 6), entropy=SeededEntropy(6))
    parts = [RowCounts.of(part, bits=mechanism.bits) for part in np.split(rows, [3, 200])]
    assert RowCounts.sum(parts, bits=mechanism.bits) == RowCounts.of(rows, bits=mechanism.bits)


@of_randomizers
def test_counts_of_values_merge(randomizer: Randomizer) -> None:
    values = np.random.default_rng(7).integers(randomizer.inputs, size=500)
    rows = randomizer.perturb(values, entropy=SeededEntropy(7))
    parts = [ReportSums.of(reports=len(part), values=randomizer.sums(part)) for part in np.split(rows, [3, 200])]
    whole = ReportSums.sum(parts, counters=randomizer.counters)
    assert np.array_equal(whole.values, randomizer.sums(rows))


@of_randomizers
def test_reports_count_the_same_one_by_one(randomizer: Randomizer) -> None:
    """Few reports are added to many sums in another way than many are."""
    values = np.random.default_rng(7).integers(randomizer.inputs, size=500)
    rows = randomizer.perturb(values, entropy=SeededEntropy(7))
    sums = np.zeros(randomizer.counters, dtype=np.int64)
    for row in range(len(rows)):
        randomizer.add(rows[[row]], to=sums)
    assert np.array_equal(sums, randomizer.sums(rows))


@of_values
def test_the_sums_of_no_reports_are_neutral(oracle: FrequencyOracle) -> None:
    assert not oracle.neutral_sums(0).any()


@of_records
def test_nobody_sends_no_rows(mechanism: Mechanism) -> None:
    rows = mechanism.perturb(np.empty((0, len(mechanism.sizes)), dtype=np.intp), entropy=SeededEntropy(0))
    assert rows.shape == (0, (mechanism.bits + 7) // 8)


@of_records
def test_reports_of_records_are_valid_and_honest(mechanism: Mechanism) -> None:
    """A false alarm comes once in 10^6 windows and 10^9 batches."""
    rows = mechanism.perturb(some_records(mechanism, 20_000, 8), entropy=SeededEntropy(8))
    assert rows.shape == (20_000, -(-mechanism.bits // 8))
    assert mechanism.valid(rows).all()
    counts = RowCounts.of(rows, bits=mechanism.bits)
    found = mechanism.plausibility(
        counts.unpacked()[:, mechanism.columns(range(len(mechanism.sizes)))],
        counts.counts,
        range(len(mechanism.sizes)),
        reports_per_user=1.0,
    )
    assert not found.flagged
    assert not mechanism.implausible(rows, np.full(20, 1_000), reports_per_user=1.0).any()
    assert mechanism.implausible(rows[:0], np.zeros(0, dtype=np.int64), reports_per_user=1.0).shape == (0,)


@of_records
def test_the_permanent_share_is_what_two_reports_of_a_record_have_in_common(mechanism: Mechanism) -> None:
    """Exact: the squared maximal correlation of two reports is the second singular value of their joint, scaled."""
    shares = []
    for attribute in mechanism.stated():
        for symbol in attribute:
            response = np.array(symbol.stages.response, dtype=np.float64)
            for row in symbol.stages.permanent:
                permanent = np.array(row, dtype=np.float64)
                sent = permanent @ response
                possible = sent > 0
                scaled = np.sqrt(permanent)[:, None] * response[:, possible] / np.sqrt(sent[possible])
                shares.append(np.linalg.svd(scaled, compute_uv=False)[1] ** 2)
    assert max(shares) == pytest.approx(mechanism.permanent_share, abs=1e-9)


@of_randomizers
def test_reports_of_values_are_valid_and_honest(randomizer: Randomizer) -> None:
    """A false alarm comes once in 10^6 windows and 10^9 batches."""
    values = np.random.default_rng(9).integers(randomizer.inputs, size=20_000)
    rows = randomizer.perturb(values, entropy=SeededEntropy(9))
    assert rows.shape == (20_000, -(-randomizer.bits // 8))
    assert randomizer.valid(rows).all()
    assert not randomizer.plausibility(randomizer.sums(rows)).flagged
    assert not randomizer.implausible(rows, np.full(20, 1_000)).any()
    assert randomizer.implausible(rows[:0], np.zeros(0, dtype=np.int64)).shape == (0,)


@of_randomizers
def test_exactly_the_possible_reports_are_valid(randomizer: Randomizer) -> None:
    possible = np.asarray(stated_outputs(randomizer).astype(np.float64).any(axis=0))
    width = -(-randomizer.bits // 8)
    rows = np.arange(len(possible), dtype="<u4").view(np.uint8).reshape(-1, 4)[:, :width]
    assert np.array_equal(randomizer.valid(rows), possible)


def keyed_words(mechanism: Mechanism) -> PermanentWords:
    """Return what makes the permanent words of users of a mechanism."""
    attributes = [(str(place), [str(value) for value in range(size)]) for place, size in enumerate(mechanism.sizes)]
    return PermanentWords(
        collection="catalogue",
        attributes=attributes,
        noise=mechanism.noise,
        counts=mechanism.words,
        by_value=mechanism.keyed_by_value,
    )


@of_records
def test_a_permanent_response_is_recomputed_from_the_secret(mechanism: Mechanism) -> None:
    keyed = keyed_words(mechanism)
    secrets = [new_secret() for _ in range(50)]
    records = some_records(mechanism, 50, 10)
    first, second = (
        mechanism.perturb(records, entropy=SeededEntropy(11), permanent_words=keyed.words_of(secrets, records))
        for _ in range(2)
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 1e-12])
@pytest.mark.parametrize("kind", MECHANISMS)
def test_an_impossible_budget_of_records_is_a_parameter_error(kind: str, epsilon: float) -> None:
    with pytest.raises(ParameterError):
        MECHANISMS[kind].for_budget(sizes=(2, 3), lifetime=epsilon, per_report=None)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_an_attribute_of_one_value_is_a_parameter_error(kind: str) -> None:
    per_report = 1.0 if MECHANISMS[kind].model_fields.keys() >= {"per_report", "buckets"} else None
    spec = MECHANISMS[kind].for_budget(sizes=(2, 3), lifetime=2.0, per_report=per_report)
    with pytest.raises(ParameterError):
        spec.of(sizes=(1, 3))
    with pytest.raises(ParameterError):
        read_mechanism(f"{kind}:{MECHANISMS[kind].example},sizes=1x3")


@pytest.mark.parametrize("epsilon", ["0", "-1", "inf", "nan", "1e-12"])
@pytest.mark.parametrize(
    "randomizer",
    [each for each in RANDOMIZERS if "epsilon=" in each.example],
    ids=lambda randomizer: randomizer.kind,
)
def test_an_impossible_epsilon_of_values_is_a_parameter_error(randomizer: type[Randomizer], epsilon: str) -> None:
    word = re.sub("epsilon=[0-9.]+", f"epsilon={epsilon}", f"{randomizer.kind}:{randomizer.example}")
    with pytest.raises(ParameterError):
        read_mechanism(word)


@pytest.mark.parametrize("word", [*notation.OF_VALUES.values(), *notation.OF_RECORDS.values()])
def test_a_mechanism_is_read_as_it_is_written(word: str) -> None:
    """In one word, and, of records, as plain data in a collection file and in a ledger."""
    mechanism = read_mechanism(word)
    if isinstance(mechanism, Mechanism):
        kind, _, _ = word.partition(":")
        spec = MECHANISMS[kind]
        parameters = dict(part.split("=") for part in spec.example.split(","))
        written = spec.model_validate({"kind": kind, **parameters})
        assert spec.model_validate(written.model_dump(mode="json")) == written
        assert written.of(sizes=mechanism.sizes) == mechanism
    else:
        assert dataclasses.replace(mechanism) == mechanism  # type: ignore[type-var]  # every oracle is a dataclass


def twin_of(original: Mechanism | Randomizer, broken: type) -> Mechanism | Randomizer:
    """The broken mechanism with the same parameters."""
    parameters = {
        each.name: getattr(original, each.name)
        for each in dataclasses.fields(original)  # type: ignore[arg-type]  # every mechanism is a dataclass
        if each.init
    }
    twin: Mechanism | Randomizer = broken(**parameters)
    return twin


@pytest.mark.parametrize(("mechanism", "twin"), OF_RECORDS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_broken_twin_of_records_is_caught_by_enumeration(mechanism: Mechanism, twin: type[Mechanism]) -> None:
    broken = twin_of(mechanism, twin)
    assert isinstance(broken, Mechanism)
    assert realised_reports(broken) != stated_reports(broken)


@pytest.mark.parametrize(
    ("randomizer", "twin"), [*OF_VALUES, *OF_NUMBERS], ids=lambda each: getattr(each, "__name__", "")
)
def test_a_broken_twin_of_values_is_caught_by_enumeration(randomizer: Randomizer, twin: type[Randomizer]) -> None:
    broken = twin_of(randomizer, twin)
    assert isinstance(broken, Randomizer)
    realised = realised_outputs(broken)
    assert epsilon_of(realised) > broken.epsilon + 1e-9 or not np.array_equal(realised, stated_outputs(broken))


def attack_on(mechanism: Mechanism) -> Attack:
    """The attack on one report of records that differ in one attribute."""
    keyed = keyed_words(mechanism)
    entropy = SeededEntropy(12)
    attack, *_ = attacks(mechanism, keyed, noise=lambda: entropy, secrets=entropy)
    return attack


@of_records
def test_an_attack_on_records_reaches_near_epsilon(mechanism: Mechanism) -> None:
    """Above 80 % of epsilon, and above epsilon with 1 seed in 10^4."""
    attack = attack_on(mechanism)
    found = attack.run(trials=100_000, confidence=0.9999, entropy=SeededEntropy(13))
    assert 0.8 * attack.claimed < found.epsilon <= attack.claimed


# Their enumeration above is exact; attacks of other randomizers are in tests/audit/test_oracle_attacks.py.
@pytest.mark.long
@of_randomizers
def test_an_attack_on_values_reaches_near_epsilon(randomizer: Randomizer) -> None:
    """Above 80 % of epsilon, and above epsilon with 1 seed in 10^4."""
    entropy = SeededEntropy(14)
    attack, *_ = randomizer_attacks(randomizer, noise=lambda: entropy)
    found = attack.run(trials=100_000, confidence=0.9999, entropy=SeededEntropy(15))
    assert 0.8 * attack.claimed < found.epsilon <= attack.claimed


def digest(*arrays: NDArray[Any]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()[:16]


@pytest.mark.parametrize(
    ("mechanism", "stored"),
    [
        (RRLDP(sizes=(2,) * 16, f=0.25, p=0.25, q=0.75), "06b425f2c39d6917"),
        (RRLDP(sizes=(8,) * 8, f=0.3, p=0.2, q=0.7), "6ebde5b8c1cafe1f"),
        (RRLDP(sizes=(2, 5, 3), f=0.5), "90095aa500658597"),
        (KRR(sizes=(2, 5, 3), attribute_epsilon=1.0), "e1f7ab32bb337913"),
    ],
    ids=str,
)
def test_the_reports_of_a_seed_are_those_that_were_stored(mechanism: Mechanism, stored: str) -> None:
    """A faster way to the same decisions takes the same ones: simulations can be repeated with a later version."""
    values = np.stack([np.arange(3_000) * 7 % size for size in mechanism.sizes], axis=1)
    assert digest(mechanism.perturb(values, entropy=SeededEntropy(1))) == stored


@pytest.mark.parametrize(
    ("slots", "hash_bits", "stored"),
    [(8, 4, "2af55496d8f0daaa"), (15, 5, "7dc3098a43234787"), (3, 8, "0744215437be72bf"), (1, 1, "5c7ea8f030462b2f")],
)
def test_the_reports_of_sets_of_a_seed_are_those_that_were_stored(slots: int, hash_bits: int, stored: str) -> None:
    numbers = np.arange(2_000)
    offsets = np.concatenate(([0], np.cumsum(numbers % 16 + (numbers % 7 == 0))))
    oracle = SetHadamardResponse(size=4_096, slots=slots, epsilon=2.0, hash_bits=hash_bits)
    items = np.arange(offsets[-1]) * 2_654_435_761 % 4_096
    assert digest(oracle.perturb_sets(offsets, items, padding=slots, entropy=SeededEntropy(1))) == stored


@pytest.mark.parametrize(
    ("hash_bits", "stored"),
    [(1, "33d8c66861989f55"), (3, "11f5a8416363e481"), (7, "d0e6b2fff09583d7"), (8, "8ea0618878a7d3ae")],
)
def test_the_reports_and_sums_of_a_seed_are_those_that_were_stored(hash_bits: int, stored: str) -> None:
    oracle = HadamardResponse(size=4_096, epsilon=4.0, hash_bits=hash_bits)
    rows = oracle.perturb(np.arange(3_000) * 37 % 4_096, entropy=SeededEntropy(1))
    assert digest(rows, oracle.sums(rows)) == stored


@of_randomizers
def test_so_many_reports_can_have_the_sums_of_reports_and_no_larger_or_smaller_ones(randomizer: Randomizer) -> None:
    reports = 200
    values = np.arange(reports) % randomizer.inputs
    sums = randomizer.sums(randomizer.perturb(values, entropy=SeededEntropy(4)))
    assert randomizer.possible(sums, reports=np.array(reports))
    assert randomizer.possible(np.stack([sums, 0 * sums]), reports=np.array([reports, 0]))
    assert not randomizer.possible(np.stack([sums, sums]), reports=np.array([reports, 0]))
    for place in (0, -1):
        for forged in (2**62, -(2**62)):
            changed = sums.copy()
            changed[place] = forged
            assert not randomizer.possible(changed, reports=np.array(reports))
