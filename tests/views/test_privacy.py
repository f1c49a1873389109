"""The privacy of a user's answers about views, by exact enumeration of all rows that the code can send."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stream_ldp.audit.enumerate import distribution
from stream_ldp.mechanisms import RepeatedResponse
from stream_ldp.views.question import ViewQuestion
from tests.views.examples import SIZES, collection_of, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.questions.questions import QuestionSet

    #: The chance of all that a user sends.
    Law = dict[tuple[bytes, ...], Fraction]

RECORDS = list(product(*map(range, SIZES)))
NEIGHBOURS = {
    "any two records": lambda differing: differing >= 1,
    "records that differ in one attribute": lambda differing: differing == 1,
}


def answers(questions: QuestionSet[Any], record: tuple[float, ...], number: int) -> dict[bytes, Fraction]:
    """The chance of each row with which a user of this record answers a question."""
    columns = [(str(place), "<i8" if isinstance(each, int) else "<f8") for place, each in enumerate(record)]
    table = np.array([record], dtype=columns)

    def report(entropy: Entropy) -> bytes:
        return questions.perturb(np.array([number]), table, entropy=entropy).tobytes()

    return distribution(report)


def one_view_for_ever(questions: QuestionSet[Any], record: tuple[int, ...], *, reports: int) -> Law:
    """All reports repeat the answer about the one view that was drawn, whatever the record is."""
    found: Law = {}
    for number, share in enumerate(np.diff(questions.ends, prepend=0).tolist()):
        for row, chance in answers(questions, record, number).items():
            found[(row,) * reports] = Fraction(share, 2**32) * chance
    return found


def another_view_each_time(questions: QuestionSet[Any], record: tuple[int, ...], *, reports: int) -> Law:
    """What a client must not do."""
    once = one_view_for_ever(questions, record, reports=1)
    found: Law = {(): Fraction(1)}
    for _ in range(reports):
        found = {(*sent, *row): a * b for sent, a in found.items() for row, b in once.items()}
    return found


def epsilon(laws: dict[tuple[int, ...], Law], near: Callable[[int], bool]) -> float:
    worst = Fraction(1)
    for first, second in product(laws, repeat=2):
        if not near(sum(a != b for a, b in zip(first, second, strict=True))):
            continue
        if laws[first].keys() != laws[second].keys():
            return inf
        worst = max(worst, *(chance / laws[second][sent] for sent, chance in laws[first].items()))
    return log(worst)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("mechanism", ["ask: pairs", "ask: [[walks, bathes], [diet, region], [diet]]"])
@pytest.mark.parametrize("reports", [1, 5])
def test_all_reports_of_a_record_for_ever_cost_one_epsilon(mechanism: str, reports: int, neighbours: str) -> None:
    questions = collection_of(f"epsilon: 1.5, {mechanism}", estimates="[{name: a, of: [diet]}]").questions
    laws = {record: one_view_for_ever(questions, record, reports=reports) for record in RECORDS}
    assert all(sum(law.values()) == 1 for law in laws.values())
    found = epsilon(laws, NEIGHBOURS[neighbours])
    # Thresholds are multiples of 2^-32 and rounded towards more noise.
    assert questions.epsilon - 1e-9 <= found <= questions.epsilon + 1e-12 <= 1.5 + 2e-12


def one_view_with_fresh_noise(questions: QuestionSet[Any], record: tuple[int, ...], *, reports: int) -> Law:
    """All reports show the answer about the one view that was drawn, each through noise of its own."""
    found: Law = {}
    for number, share in enumerate(np.diff(questions.ends, prepend=0).tolist()):
        question = questions.questions[number]
        assert isinstance(question, ViewQuestion)
        repeated = question.randomizer
        assert isinstance(repeated, RepeatedResponse)
        cell = int(np.ravel_multi_index(tuple(record[place] for place in question.of), question.shape))
        p, a = Fraction(repeated.kept, 2**32), Fraction(repeated.fresh, 2**32)
        others = repeated.size - 1
        for sent in product(range(repeated.size), repeat=reports):
            chance = Fraction(0)
            for permanent in range(repeated.size):
                drawn = p if permanent == cell else (1 - p) / others
                for each in sent:
                    drawn *= a if each == permanent else (1 - a) / others
                chance += drawn
            found[tuple(bytes((number, each)) for each in sent)] = Fraction(share, 2**32) * chance
    return found


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_fresh_noise_on_an_answer_costs_what_is_claimed_of_one_report_of_two_and_for_ever(neighbours: str) -> None:
    collection = collection_of("epsilon: 2, per_report: 1, ask: [[walks, bathes], [diet, region], [diet]]")
    questions = collection.questions
    for reports in (1, 2, 3):
        laws = {
            record: one_view_with_fresh_noise(questions, record, reports=reports)
            for record in (RECORDS[0], RECORDS[1], RECORDS[-1])
        }
        assert all(sum(law.values()) == 1 for law in laws.values())
        claimed = max(each.randomizer.loss(reports=reports) for each in questions.questions)
        found = epsilon(laws, lambda differing: NEIGHBOURS[neighbours](differing) or differing == 0)
        assert found <= claimed + 1e-9
        if neighbours == "any two records":
            assert found == pytest.approx(claimed, abs=1e-9)
        if reports == 1:
            realised = {record: one_view_for_ever(questions, record, reports=1) for record in laws}
            assert realised == laws, "the code answers as its parameters say"
    assert questions.epsilon <= 1.0
    assert 1.999 < questions.lifetime <= 2.0
    lifetime = one_view_for_ever(questions.memoised, RECORDS[0], reports=2)
    other = one_view_for_ever(questions.memoised, RECORDS[-1], reports=2)
    assert log(max(chance / other[sent] for sent, chance in lifetime.items())) <= questions.lifetime + 1e-9


def test_another_view_each_time_would_cost_epsilon_each_time() -> None:
    questions = collection_of("epsilon: 1.5, ask: [[walks, bathes], [diet]]").questions
    some = [RECORDS[0], RECORDS[-1], RECORDS[3]]
    laws = {record: another_view_each_time(questions, record, reports=2) for record in some}
    assert epsilon(laws, NEIGHBOURS["any two records"]) == pytest.approx(3.0, abs=1e-6)


def test_the_view_is_drawn_without_the_record() -> None:
    questions = collection_of("epsilon: 1.5, ask: pairs").questions
    for number in range(len(questions.questions)):
        chances = {sum(answers(questions, record, number).values()) for record in RECORDS[:4]}
        assert chances == {1}


def test_a_view_of_numbers_tells_their_cell_at_epsilon_and_nothing_else() -> None:
    """Numbers of one cell have the same chances, and any two others differ by epsilon at most, which some do."""
    questions = numbers_of("epsilon: 1, ask: pairs, cells: 2").questions
    view = questions.questions[0]
    cells = {(16.0, 0.0): 0, (52.9, 49.9): 0, (20.0, 50.0): 1, (53.0, 7.5): 2, (90.0, 100.0): 3}
    laws = {held: answers(questions, (*held, 0), 0) for held in cells}
    losses = [
        max(abs(log(chance / laws[other][row])) for row, chance in laws[one].items())
        for one, other in product(laws, repeat=2)
        if cells[one] != cells[other]
    ]
    assert laws[16.0, 0.0] == laws[52.9, 49.9]
    assert max(losses) == pytest.approx(view.randomizer.epsilon, abs=1e-12)
    assert max(losses) <= 1.0
