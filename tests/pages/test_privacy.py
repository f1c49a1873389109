"""docs/privacy.md has the numbers of the code."""

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction

import pytest

from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.ledger.ledger import Spending
from stream_ldp.mechanisms import KRR, RRLDP, BitFlipResponse, DirectResponse, HashedKRR
from stream_ldp.mechanisms.hashed_k_rr import hashes
from stream_ldp.mechanisms.privacy_loss import shown_guess
from stream_ldp.mechanisms.shuffling import DELTA, composed_epsilon, shuffled_epsilon
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon, epochs_epsilon
from stream_ldp.sets.plan import plan
from tests.client.examples import collection_of
from tests.pages.page import example, examples, table, text_of

PAGE = "docs/privacy.md"

#: The mechanism of the survey, and the one that the page compares it with.
BITS = "{kind: k-rr, epsilon: 1}", "{kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}"


def test_the_privacy_statement_has_the_mechanisms_own_numbers() -> None:
    collection = example("survey.yaml")
    assert isinstance(collection, JointCollection)
    row = r"^\| (\d+|all) reports?.*? \| ([\d.]+) \| (.*?) \| ([\d.]+) \| (.*?) \|$"
    rows = re.findall(row, table(PAGE, "privacy"), flags=re.MULTILINE)
    assert len(rows) == 3
    for reports, *stated in rows:
        seen = math.inf if reports == "all" else int(reports)
        for neighbours, (epsilon, guess) in enumerate((stated[:2], stated[2:]), start=1):
            exact = collection.mechanism.epsilon(neighbours=neighbours, reports=seen)
            # Rounded up to the third decimal: a promise of privacy is never rounded down.
            assert exact <= float(epsilon) < exact + 0.001, (reports, neighbours, exact)
            assert guess == shown_guess(exact)


def test_the_privacy_statement_of_sets_has_the_methods_own_numbers() -> None:
    collection = example("daily-films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(
        r"^\| (\d+) epochs? \| ([\d.]+) \| (.*?) \|$", table(PAGE, "privacy of sets"), flags=re.MULTILINE
    )
    assert len(rows) == 4
    for epochs, stated, guess in rows:
        exact = int(epochs) * epoch_epsilon(collection.method)
        assert exact <= float(stated) < exact + 0.001
        assert guess == shown_guess(exact)


def test_the_privacy_statement_of_memoised_sets_has_the_methods_own_numbers() -> None:
    collection = example("memoised-films.yaml")
    assert isinstance(collection, ItemCollection)
    rows = re.findall(
        r"^\| (\d+|all) epochs?(?:, in a lifetime)? \| (.*?) \| ([\d.]+) \| (.*?) \|$",
        table(PAGE, "privacy of memoised sets"),
        flags=re.MULTILINE,
    )
    assert len(rows) == 5
    for epochs, fresh, stated, guess in rows:
        count = math.inf if epochs == "all" else int(epochs)
        exact = epochs_epsilon(collection.method, epochs=count)
        assert exact <= float(stated) < exact + 0.001
        assert guess == shown_guess(exact)
        assert fresh == (epochs if epochs != "all" else "without a limit")
    (svim, loloha) = (
        plan(ItemCollection.model_validate({**collection.document, "mechanism": mechanism})).phases[-1].errors[2]
        for mechanism in (
            {"kind": "svim", "epsilon": 1, "k": 3, "set_size": 4},
            collection.document["mechanism"],
        )
    )
    assert svim.users == loloha.users == 100_000
    stated = f"is {svim.standard_error:.3f} with `svim` and {loloha.standard_error:.3f} with `loloha`"
    assert stated in text_of(PAGE).replace("\n", " ")


def loss_of_a_change(mechanism: RRLDP, *, reports: int) -> float:
    """Compute the most that reports tell a record that changes in the middle from one that stays the same, in nats.

    All attributes change. Given the records, bits are independent, and each half of the reports shows a permanent bit
    of its own; of a record that stays the same, both halves show the same one.
    """
    flip, (p, q), half = mechanism.flip, mechanism.response, reports // 2

    def shown(ones: int, permanent: int) -> float:
        one = q if permanent else p
        return one**ones * (1 - one) ** (half - ones)

    def drawn(permanent: int, true: int) -> float:
        return flip if permanent != true else 1 - flip

    def changed(first: int, second: int, ones: Sequence[int]) -> float:
        return math.prod(
            sum(drawn(bit, true) * shown(count, bit) for bit in (0, 1))
            for true, count in zip((first, second), ones, strict=True)
        )

    def constant(true: int, ones: Sequence[int]) -> float:
        return sum(drawn(bit, true) * shown(ones[0], bit) * shown(ones[1], bit) for bit in (0, 1))

    total = 0.0
    for size in mechanism.sizes:
        losses = []
        for value in range(size):
            ratios = [
                [
                    math.log(changed(bit == 0, bit == 1, ones) / constant(bit == value, ones))
                    for ones in itertools.product(range(half + 1), repeat=2)
                ]
                for bit in range(size)
            ]
            losses += [sum(max(each) for each in ratios), sum(-min(each) for each in ratios)]
        total += max(losses)
    return total


@pytest.mark.parametrize("reports", [2, 4])
def test_the_loss_of_a_change_is_the_one_that_is_enumerated(reports: int) -> None:
    mechanism = RRLDP(sizes=(2,), f=0.5, p=0.5, q=0.75)
    enumeration, half = Enumeration.realised(mechanism), reports // 2
    histories = [[(0,)] * half + [(1,)] * half, *([(value,)] * reports for value in (0, 1))]
    losses = [
        enumeration.histories_epsilon(*pair)
        for same in histories[1:]
        for pair in ((histories[0], same), (same, histories[0]))
    ]
    assert loss_of_a_change(mechanism, reports=reports) == pytest.approx(max(losses), abs=1e-9)


def test_the_price_of_a_change_and_what_it_shows_are_as_stated() -> None:
    collection = JointCollection.parse(examples()["survey.yaml"].replace(*BITS))
    assert isinstance(collection.mechanism, RRLDP)
    stated = r"it charges ([\d.]+\d), .* may gain ([\d.]+\d)"
    ((charged, shown),) = re.findall(stated, text_of(PAGE).replace("\n", " "))
    records = [[0, 0]] * 15 + [[1, 1]] * 15
    spending = Spending().after(charges(collection, records, secret=bytes(32), tag_key=bytes(range(32))))
    assert spending.epsilon <= float(charged) < spending.epsilon + 0.001
    exact = loss_of_a_change(collection.mechanism, reports=30)
    assert exact <= float(shown) < exact + 0.001


@pytest.mark.parametrize("mechanism", ["{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}", "{kind: k-rr, epsilon: 2}"])
@pytest.mark.parametrize("reports", [1, 2, 30])
def test_a_client_that_counts_as_the_specification_says_counts_what_the_ledger_does(
    mechanism: str, reports: int
) -> None:
    """The formulas of section 15, in its words."""
    collection = collection_of(mechanism=mechanism)
    counted = Fraction()
    for size in collection.sizes:
        if "k-rr" in mechanism:
            run = math.ceil(2**32 / (math.exp(2) + size - 1))
            counted += Fraction(math.log((2**32 - (size - 1) * run) / run))
            continue
        (t_f, t_p, t_q), t = collection.mechanism.meaning, reports
        h, p, q = t_f / 2**32, t_p / 2**32, t_q / 2**32
        k, u, d = 1 - h, (p / q) ** t, ((1 - q) / (1 - p)) ** t
        counted += Fraction(math.log((k + h * u) / (h + k * u)) + math.log((k + h * d) / (h + k * d)))
    spending = Spending().after(charges(collection, [[0, 1]] * reports, secret=bytes(32), tag_key=bytes(range(32))))
    assert float(counted) == pytest.approx(spending.epsilon, abs=1e-8)


def test_what_readers_of_answers_could_learn_is_as_stated() -> None:
    """Each number is the bound, rounded up to the third decimal."""
    text = text_of(PAGE)
    rows = re.findall(r"^\| ([\d,]+) ((?:\| 0\.\d{3} ){5})\|$", text, flags=re.MULTILINE)
    assert len(rows) == 3
    blankets = [None, *(DirectResponse(size=size, epsilon=1.0).blanket for size in (2, 4, 16, 64))]
    for reports, numbers in rows:
        count = int(reports.replace(",", ""))
        for stated, blanket in zip(numbers.strip("| ").split(" | "), blankets, strict=True):
            exact = shuffled_epsilon(1.0, reports=count, delta=DELTA, blanket=blanket)
            assert exact <= float(stated) < exact + 0.001, (reports, blanket)
    ((ten, naive),) = re.findall(r"k-RR of 16 values give (0\.\d{3}) instead of (0\.\d\d)", text.replace("\n", " "))
    exact = composed_epsilon(1.0, reports=20_000, delta=DELTA, times=10, blanket=blankets[3])
    assert exact <= float(ten) < exact + 0.001
    once = shuffled_epsilon(1.0, reports=20_000, delta=DELTA, blanket=blankets[3])
    assert 10 * once == pytest.approx(float(naive), abs=0.01)


def test_the_chances_that_a_change_shows_are_those_of_permanent_answers() -> None:
    """Exact: two of 16 values, and the answers to both, which are drawn independently unless they are one."""
    text = text_of(PAGE)
    ((symbol,),) = KRR(sizes=(16,), attribute_epsilon=2.0).stated()
    one, other = symbol.stages.permanent[:2]
    by_value = 1 - sum(a * b for a, b in zip(one, other, strict=True))
    hashed = HashedKRR(sizes=(16,), attribute_epsilon=2.0, report_epsilon=1.0)
    kept = Fraction(hashed.response.kept[0], 2**32)
    differ = kept**2 + (1 - kept) ** 2
    table = hashes(16, 2)
    apart = Fraction(int((table[:, 0] != table[:, 1]).sum()), len(table))
    flip = BitFlipResponse(size=1, epsilon=2.0, cohorts=16)
    told = Fraction(sum(flip.input_of(0, cohort=c) != flip.input_of(1, cohort=c) for c in range(16)), 16)
    bit = Fraction(flip.parameters[1], 2**32)
    assert f"(`k-rr`) | {float(by_value):.3f} |" in text
    assert f"2 buckets) | {float(apart * differ):.3f} | 8 of 15 cohorts" in text
    assert f"1 bit) | {float(told * (bit**2 + (1 - bit) ** 2)):.3f} | one user in 8" in text
    assert f"and {float(differ):.3f} of these" in text
