"""Questions about views: which cell a user is in."""

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.views.question import ViewQuestion
from tests.views.examples import collection_of, numbers_of, users, workers


def test_the_last_attribute_of_a_view_changes_fastest() -> None:
    collection = collection_of("epsilon: 4, ask: [[diet, walks], [walks, bathes]]")
    first, second = collection.questions.questions
    assert isinstance(first, ViewQuestion)
    assert (first.of, first.shape, second.of) == ((0, 2), (2, 3), (0, 1))
    people = users(100)
    assert (first.inputs(people, entropy=SeededEntropy(0)) == people["0"] * 3 + people["2"]).all()


def test_what_a_user_holds_of_a_view_does_not_show_the_rest() -> None:
    (view,) = collection_of("epsilon: 4, ask: [[walks, bathes]]").questions.questions
    people = users(2)
    people[1] = people[0]
    people["3"] = [0, 1]
    assert len(set(view.held(people))) == 1
    people["0"] = [0, 1]
    assert len(set(view.held(people))) == 2


def test_users_without_answers_perturb_to_no_rows() -> None:
    questions = collection_of().questions
    rows = questions.perturb(np.zeros(0, dtype=np.int64), users(0), entropy=SeededEntropy(0))
    assert rows.shape == (0, 2)


def test_a_row_about_a_view_that_does_not_exist_is_no_report() -> None:
    collection = collection_of("epsilon: 4, ask: [[diet, walks], [walks, bathes]]")
    (row,) = collection.questions.perturb(np.zeros(1, dtype=np.int64), users(1), entropy=SeededEntropy(0))
    answer = row.tobytes()[1:]
    rows = _as_rows([b"\x00" + answer, b"\x02" + answer, b"\xff" + answer])
    assert collection.questions.valid(rows).tolist() == [True, False, False]


def test_a_subset_with_another_number_of_members_is_no_report() -> None:
    questions = collection_of("epsilon: 0.5, ask: [[diet, walks, bathes]], oracle: k-subset").questions
    (question,) = questions.questions
    size, members, _ = question.randomizer.parameters
    right, less = ((1 << count) - 1 for count in (members, members - 1))
    rows = [number.to_bytes(-(-size // 8), "little") for number in (right, less, less << 1 | 1 << (size - 1))]
    assert questions.valid(_as_rows(rows)).tolist() == [True, False, members > 1]


def _as_rows(rows: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)


def test_numbers_of_one_cell_have_one_answer_and_others_another() -> None:
    collection = numbers_of("epsilon: 2, ask: pairs, cells: 4")
    view = collection.questions.questions[0]
    assert view.meaning[3:] == [[4, 4]]
    assert view.permanent_answers == 16
    people = workers(3)
    people["0"], people["1"] = [16.0, 34.4, 34.5], [25.0, 49.9, 50.0]
    assert view.inputs(people, entropy=SeededEntropy(0)).tolist() == [1, 1, 6]
    assert len(set(view.held(people))) == 2


def test_a_view_of_lists_means_what_it_meant() -> None:
    assert {len(view.meaning) for view in collection_of().questions.questions} == {3}
