"""What readers of sums learn is bounded as published, and no real mechanism exceeds the bound."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import KRR, RRLDP
from stream_ldp.mechanisms.mechanism import Mechanism
from stream_ldp.mechanisms.shuffling import MAX_REPORTS, shuffled_delta, shuffled_epsilon

Pair = dict[tuple[int, ...], Fraction]


def divergence(one: Pair, other: Pair, *, epsilon: float) -> float:
    """The largest P(S) - e^epsilon Q(S) over sets S of outputs."""
    odds = math.exp(epsilon)
    return math.fsum(max(float(chance) - odds * float(other.get(each, 0)), 0.0) for each, chance in one.items())


def binomial(trials: int, chance: Fraction) -> list[Fraction]:
    return [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]


def clones(local: float, reports: int) -> tuple[Pair, Pair]:
    """Enumerate the two distributions of the theorem, by its words."""
    clone, keeps = Fraction(math.exp(-local)), Fraction(math.exp(local) / (math.exp(local) + 1))
    one: Pair = defaultdict(Fraction)
    other: Pair = defaultdict(Fraction)
    for c, chance in enumerate(binomial(reports - 1, clone)):
        for a, half in enumerate(binomial(c, Fraction(1, 2))):
            for b, flip in ((1, keeps), (0, 1 - keeps)):
                one[a + b, c - a + 1 - b] += chance * half * flip
                other[a + 1 - b, c - a + b] += chance * half * flip
    return one, other


@pytest.mark.parametrize("local", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("reports", [1, 2, 5, 12])
def test_delta_is_the_divergence_of_the_enumerated_distributions(local: float, reports: int) -> None:
    one, other = clones(local, reports)
    for part in (0.0, 0.1, 0.35, 0.7, 0.99):
        exact = divergence(one, other, epsilon=part * local)
        assert exact == pytest.approx(divergence(other, one, epsilon=part * local), abs=1e-14)
        found = shuffled_delta(part * local, local=local, reports=reports)
        assert exact <= found <= exact * (1 + 1e-5), "never below it"


def shuffled(mechanism: Mechanism, values: tuple[int, ...]) -> Pair:
    """Enumerate the reports of users with these values of one attribute, in no order."""
    (symbols,) = mechanism.stated()

    def report(value: int) -> dict[tuple[int, ...], Fraction]:
        rows: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
        for symbol in symbols:
            permanent = symbol.stages.permanent[symbol.inputs[value]]
            sent = [
                sum((p * s[place] for p, s in zip(permanent, symbol.stages.response, strict=True)), start=Fraction())
                for place in range(len(symbol.stages.response[0]))
            ]
            rows = {(*row, place): chance * more for row, chance in rows.items() for place, more in enumerate(sent)}
        return rows

    seen: Pair = defaultdict(Fraction)
    for rows in itertools.product(*(report(value).items() for value in values)):
        together = tuple(itertools.chain.from_iterable(sorted(row for row, _ in rows)))
        seen[together] += math.prod((chance for _, chance in rows), start=Fraction(1))
    return seen


@pytest.mark.parametrize(
    "mechanism",
    [
        KRR(sizes=(2,), attribute_epsilon=1.0),
        KRR(sizes=(3,), attribute_epsilon=2.0),
        RRLDP(sizes=(2,), f=0.5, p=0.5, q=0.75),
        RRLDP(sizes=(2,), f=0.3),
    ],
    ids=["k-RR of 2", "k-RR of 3", "RR-LDP", "RR-LDP without IRR"],
)
@pytest.mark.parametrize("users", [2, 3, 4])
def test_no_mechanism_is_distinguished_better_than_by_the_bound(mechanism: Mechanism, users: int) -> None:
    local = mechanism.privacy_loss().epsilon
    size = mechanism.sizes[0]
    for rest in itertools.combinations_with_replacement(range(size), users - 1):
        one, other = (shuffled(mechanism, (value, *rest)) for value in (0, 1))
        for part in (0.0, 0.2, 0.5, 0.9, 1.0):
            bound = shuffled_delta(part * local, local=local, reports=users)
            assert divergence(one, other, epsilon=part * local) <= bound + 1e-12
            assert divergence(other, one, epsilon=part * local) <= bound + 1e-12


def closed_form(local: float, *, reports: int, delta: float) -> float:
    """Theorem 3.1 of the same paper, which is looser."""
    odds = math.exp(local)
    root = 8 * math.sqrt(odds * math.log(4 / delta)) / math.sqrt(reports)
    return math.log1p((odds - 1) / (odds + 1) * (root + 8 * odds / reports))


@pytest.mark.parametrize(("reports", "closed", "numeric"), [(20_000, 0.71, 0.278), (100_000, 0.38, 0.119)])
def test_the_numeric_bound_is_below_the_closed_form(reports: int, closed: float, numeric: float) -> None:
    assert closed_form(3.0, reports=reports, delta=1e-8) == pytest.approx(closed, abs=0.005)
    found = shuffled_epsilon(3.0, reports=reports, delta=1e-8)
    assert found == pytest.approx(numeric, abs=0.0005)
    assert shuffled_delta(found, local=3.0, reports=reports) <= 1e-8
    assert shuffled_delta(found - 1e-4, local=3.0, reports=reports) > 1e-8


def test_more_reports_hide_better_and_nothing_is_worse_than_the_local_epsilon() -> None:
    found = [shuffled_epsilon(2.0, reports=reports, delta=1e-8) for reports in (1, 10, 100, 1_000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(2.0, abs=1e-5)
    assert max(found) <= 2.0
    most = shuffled_epsilon(2.0, reports=MAX_REPORTS, delta=1e-8)
    assert shuffled_epsilon(2.0, reports=100 * MAX_REPORTS, delta=1e-8) == most < found[-1]


def test_arguments_that_mean_nothing_are_refused() -> None:
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match=r"delta is a probability"):
            shuffled_epsilon(1.0, reports=10, delta=delta)
    with pytest.raises(ParameterError, match=r"no bound"):
        shuffled_epsilon(1.0, reports=0, delta=1e-8)
