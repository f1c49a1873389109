"""Questions: who is asked which, what a report says, and that all of it loses exactly epsilon."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from stream_ldp.audit.enumerate import distribution
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.marginals.question import AttributeQuestion
from stream_ldp.marginals.values import ValueQuestion
from stream_ldp.mechanisms import DirectResponse, Entropy, HadamardResponse, SeededEntropy, random_words
from stream_ldp.questions.attributes import AskedAttribute
from stream_ldp.questions.questions import QuestionSet, Table
from tests.marginals.examples import collection_of, rows_of, users

COLLECTION = collection_of()
QUESTIONS = COLLECTION.questions


def question_set(count: int) -> QuestionSet[AttributeQuestion]:
    """So many questions about one attribute each, answered by direct and Hadamard responses in turn."""
    oracles = [DirectResponse(size=3, epsilon=1.0), HadamardResponse(size=5, epsilon=2.0)]
    return QuestionSet(
        questions=tuple(
            ValueQuestion(
                of=(place,),
                attributes=(AskedAttribute(name=str(place), values=("a", "b", "c")),),
                randomizer=oracles[place % 2],
                weight=1,
            )
            for place in range(count)
        )
    )


def table_of(columns: int, rows: int) -> Table:
    table = np.empty(rows, dtype=[(str(place), "<i8") for place in range(columns)])
    for place in range(columns):
        table[str(place)] = np.random.default_rng(place).integers(3, size=rows)
    return table


def test_every_word_belongs_to_one_question_in_proportion_to_its_weight() -> None:
    assert QUESTIONS.ends[-1] == 2**32
    assert QUESTIONS.shares == pytest.approx(1 / 3, abs=1e-9)
    edges = np.array([0, *(end + step for end in QUESTIONS.ends[:-1] for step in (-1, 0)), 2**32 - 1])
    assert QUESTIONS.numbers(edges.astype(np.uint32)).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("count", "number_bytes"), [(1, 0), (2, 1), (256, 1), (257, 2)])
def test_the_number_of_a_question_takes_as_many_bytes_as_it_needs(count: int, number_bytes: int) -> None:
    questions = question_set(count)
    assert questions.number_bytes == number_bytes
    rows = questions.perturb(np.arange(count), table_of(count, count), entropy=SeededEntropy(1))
    assert rows.shape == (count, -(-questions.bits // 8))
    assert questions.valid(rows).all()
    assert np.array_equal(questions.draws(questions.sums(rows)), np.ones(count))


def test_the_sums_of_a_question_are_those_of_its_randomizer_alone() -> None:
    questions = question_set(3)
    numbers = np.arange(900) % 3
    rows = questions.perturb(numbers, table_of(3, 900), entropy=SeededEntropy(4))
    for number, question in enumerate(questions.questions):
        reports, sums = questions.part(questions.sums(rows), number)
        width = -(-question.randomizer.bits // 8)
        assert reports == 300
        assert np.array_equal(sums, question.randomizer.sums(rows[numbers == number, 1 : 1 + width]))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_rows_of_two_bytes_are_counted_as_those_of_any_width(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = question_set(count)
    numbers = np.arange(900) % count
    rows = questions.perturb(numbers, table_of(count, 900), entropy=SeededEntropy(4))
    assert (questions._of_bytes is None) == (count == 1)
    at_once = questions.sums(rows)
    assert np.array_equal(questions.sums(rows[::-1]), at_once)
    assert not questions.sums(rows[:0]).any()
    monkeypatch.setitem(questions.__dict__, "_of_bytes", None)
    assert np.array_equal(questions.sums(rows), at_once)


def test_sums_of_batches_add_up_in_any_order() -> None:
    rows = rows_of(COLLECTION, users(1_000))
    mixed = np.random.default_rng(0).permutation(rows)
    assert np.array_equal(sum(map(QUESTIONS.sums, np.split(mixed, [1, 10, 400]))), QUESTIONS.sums(rows))


def test_rows_that_no_client_makes_are_invalid() -> None:
    """An unknown number, a value that the question lacks, and bits behind the answer."""
    questions = question_set(2)
    assert questions.bits == 8 + 4
    rows = np.array([[0, 2], [0, 3], [0, 0x12], [1, 0x0F], [1, 0x10], [2, 0], [255, 0]], dtype=np.uint8)
    assert questions.valid(rows).tolist() == [True, False, False, True, False, False, False]
    assert questions.valid(rows[:0]).shape == (0,)
    assert not questions.sums(rows[:0]).any()


def test_a_whole_report_loses_the_largest_epsilon_of_the_questions_whatever_else_the_users_hold() -> None:
    """Exact: every outcome for each pair of values of two attributes, times the chance of each question."""
    questions = question_set(2)

    def report(number: int, table: Table, entropy: Entropy) -> bytes:
        return questions.perturb(np.array([number]), table, entropy=entropy).tobytes()

    reports: dict[tuple[int, ...], dict[bytes, Fraction]] = {}
    for held in np.ndindex(3, 3):
        table = np.array([held], dtype=[("0", "<i8"), ("1", "<i8")])
        reports[held] = {
            output: Fraction(questions.ends[number] - (0, *questions.ends)[number], 2**32) * chance
            for number in range(2)
            for output, chance in distribution(partial(report, number, table)).items()
        }
    assert {sum(each.values()) for each in reports.values()} == {1}
    outputs = set().union(*reports.values())
    assert all(each.keys() == outputs for each in reports.values())
    worst = max(
        math.log(max(each[output] for each in reports.values()) / min(each[output] for each in reports.values()))
        for output in outputs
    )
    assert worst == pytest.approx(questions.epsilon, abs=1e-9)
    assert questions.epsilon == pytest.approx(2.0, abs=1e-8)


def test_questions_that_are_drawn_unevenly_are_implausible() -> None:
    """Honest draws are flagged once in 10^6 seeds; here one attribute gets a tenth more than its share."""
    numbers = QUESTIONS.numbers(random_words(20_000, entropy=SeededEntropy(9)))
    honest = QUESTIONS.sums(QUESTIONS.perturb(numbers, users(20_000), entropy=SeededEntropy(10)))
    assert not QUESTIONS.plausibility(honest, reports_per_user=1.0).flagged
    numbers[:1_500] = 0
    crafted = QUESTIONS.sums(QUESTIONS.perturb(numbers, users(20_000), entropy=SeededEntropy(10)))
    assert QUESTIONS.plausibility(crafted, reports_per_user=1.0).flagged
    assert not QUESTIONS.plausibility(crafted, reports_per_user=50.0).flagged
    assert QUESTIONS.plausibility(np.zeros(QUESTIONS.counters), reports_per_user=1.0).degrees_of_freedom == 0


@pytest.mark.parametrize("oracle", ["hadamard", "rappor", "oue"])
def test_answers_that_are_crafted_are_implausible(oracle: str) -> None:
    """Rows that suit a value, and bits of a value alone; honest ones are flagged once in 10^6 seeds."""
    collection = SampledCollection.parse(
        f"collection: diets\nmechanism: {{kind: sampled, epsilon: 1, oracle: {oracle}}}\n"
        "attributes: [{name: diet, values: [a, b, c, d, e, f, g, h]}]\nwindow: {size: 10s}\n"
    )
    questions = collection.questions
    people = collection.table([(value % 8,) for value in range(4_000)])
    rows = questions.perturb(np.zeros(4_000, dtype=np.int64), people, entropy=SeededEntropy(3))
    assert not questions.plausibility(questions.sums(rows), reports_per_user=1.0).flagged
    rows[:400] = 1  # one row of the matrix, or the bit of the first value
    found = questions.plausibility(questions.sums(rows), reports_per_user=1.0)
    assert found.flagged
    assert questions.plausibility(questions.sums(rows), reports_per_user=1_000.0).p_value > found.p_value


def test_equal_values_and_no_others_are_held_as_equal_bytes() -> None:
    table = users(50)
    for question in QUESTIONS.questions:
        held, column = question.held(table), table[str(question.of[0])]
        assert [one == held[0] for one in held] == (column == column[0]).tolist()


def test_impossible_sums_are_refused() -> None:
    rows = rows_of(COLLECTION, users(500))
    sums = QUESTIONS.sums(rows)
    assert QUESTIONS.possible(sums, reports=np.array(500))
    assert not QUESTIONS.possible(sums, reports=np.array(501))
    for place in range(len(sums)):
        for forged in (2**62, -1):
            changed = sums.copy()
            changed[place] = forged
            signed = forged == -1 and QUESTIONS.possible(changed, reports=np.array(500))
            # A sum of signs may be negative.
            assert not signed or np.abs(sums[place]) < 500
            assert forged == -1 or not QUESTIONS.possible(changed, reports=np.array(500))
