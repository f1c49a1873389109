"""Tests that the comparison finds what is wrong, each kind of it."""

from dataclasses import replace
from typing import Any

import numpy as np

from stream_ldp.kinds import solve
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from tests.chaos.checks import differences_of_finals, differences_of_letters, late_places
from tests.chaos.oracle import Expected
from tests.chaos.test_oracle import COLLECTION, NOW

ROWS = [bytes([value]) for value in (1, 3, 5, 9, 17, 30, 31)]
EXPECTED = Expected(windows={NOW: ROWS, NOW + 2_000: ROWS[:3]}, final={NOW, NOW + 2_000})


def finals() -> list[Estimate]:
    """Answer the windows of EXPECTED, and the silent one between them."""
    series, before, answers = COLLECTION.estimates[0], None, list[Estimate]()
    for start, rows in ((NOW, ROWS), (NOW + 1_000, []), (NOW + 2_000, ROWS[:3])):
        counts = RowCounts.of(np.array([[row[0] & 3] for row in rows], dtype=np.uint8).reshape(-1, 1), bits=2)
        task: WindowTask[Any, Any] = WindowTask(
            series=series,
            window_ms=start,
            final=True,
            windows=((1.0, (counts,) if rows else ()),),
            before=before,
            silent_until_ms=None if rows else start + 1_000,
        )
        answer = solve(COLLECTION, task)
        assert isinstance(answer, Estimate)
        before = answer if rows else before
        answers.append(answer)
    return answers


def found(published: list[Estimate], expected: Expected = EXPECTED) -> list[str]:
    return differences_of_finals(published, expected, collection=COLLECTION)


def test_what_had_to_be_published_passes() -> None:
    assert found(finals()) == []


def test_a_final_that_is_there_twice_is_found() -> None:
    first, *others = finals()
    assert found([first, *others, first]) == [f"window {NOW}: published twice, with one content"]


def test_a_final_with_two_contents_is_found() -> None:
    first, *_ = finals()
    other = first.model_copy(update={"reports": 8})
    assert found([*finals(), other]) == [f"window {NOW}: published twice, with another content"]


def test_a_final_that_is_missing_or_not_called_for_is_found() -> None:
    first, silent, last = finals()
    assert found([first, silent]) == [f"window {NOW + 2_000}: no final"]
    early = replace(EXPECTED, final={NOW})
    assert found([first, silent, last], early) == [f"window {NOW + 2_000}: a final that nothing calls for"]


def test_other_counts_and_other_numbers_are_found() -> None:
    first, silent, last = finals()
    assert found([first.model_copy(update={"reports": 6}), silent, last]) == [f"window {NOW}: 6 reports, expected 7"]
    moved = first.model_copy(update={"probability": last.probability})
    assert found([moved, silent, last]) == [f"window {NOW}: the numbers are not those that are estimated offline"]


def test_a_final_may_have_what_the_log_has_lost_or_not_and_no_other_number() -> None:
    first, silent, last = finals()
    expected = replace(EXPECTED, windows={NOW: [*ROWS, *ROWS[:2]], NOW + 2_000: ROWS[:3]})
    assert found([first, silent, last], expected)[0] == f"window {NOW}: 7 reports, expected 9"
    lost = replace(expected, spare={NOW: 2, NOW + 2_000: 0})
    assert found([first, silent, last], lost) == []
    assert found([first.model_copy(update={"reports": 6}), silent, last], lost) == [
        f"window {NOW}: 6 reports, expected 9"
    ]


def test_numbers_are_not_compared_where_a_remembered_window_has_lost_reports() -> None:
    first, silent, last = finals()
    remembering = COLLECTION.model_copy(update={"window": COLLECTION.window.model_copy(update={"memory": 0.5})})
    wrong = f"window {NOW + 2_000}: the numbers are not those that are estimated offline"
    assert wrong in differences_of_finals([first, silent, last], EXPECTED, collection=remembering)
    lost = replace(EXPECTED, spare={NOW: 2})
    assert wrong not in differences_of_finals([first, silent, last], lost, collection=remembering)


def test_a_window_that_has_lost_all_of_its_reports_may_be_silent() -> None:
    first, silent, last = finals()
    lost = replace(EXPECTED, windows={**EXPECTED.windows, NOW + 1_000: ROWS}, final={*EXPECTED.final, NOW + 1_000})
    assert f"window {NOW + 1_000}: no final" in found([first, silent, last], lost)
    assert found([first, silent, last], replace(lost, spare={NOW + 1_000: len(ROWS)})) == []


def test_linked_reports_are_held_against_those_of_their_period_until_then() -> None:
    linked = JointCollection.model_validate(
        COLLECTION.document | {"linked": "4s", "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75}}
    )
    users = [b"%08d" % user for user in range(3)]
    at = NOW - NOW % 4_000
    windows = {
        at: [user + bytes([1]) for user in users],
        at + 1_000: [users[0] + bytes([2])],
        at + 4_000: [users[0] + bytes([1])],
    }
    expected = Expected(windows=windows, final=set(windows))
    series, before, answers = linked.estimates[0], None, list[Estimate]()
    counts = {
        start: RowCounts.of(np.array([[*row[:8], row[8] & 3] for row in rows], dtype=np.uint8), bits=66)
        for start, rows in windows.items()
    }
    for start, earlier in ((at, []), (at + 1_000, [at]), (at + 4_000, [])):
        task: WindowTask[Any, Any] = WindowTask(
            series=series,
            window_ms=start,
            final=True,
            windows=((1.0, (counts[start],)), *((1.0, (counts[each],)) for each in earlier)),
            before=before,
        )
        before = solve(linked, task)
        assert isinstance(before, Estimate)
        answers.append(before)
    silent = answers[1].without_reports(until_ms=at + 4_000)
    told = silent.window.model_copy(update={"start_ms": at + 2_000, "end_ms": at + 4_000})
    published = [*answers, silent.model_copy(update={"window": told})]
    assert differences_of_finals(published, expected, collection=linked) == []
    assert answers[1].linked is not None
    forgetful = answers[1].model_copy(update={"linked": answers[1].linked.model_copy(update={"reports": 1})})
    assert differences_of_finals([answers[0], forgetful, *published[2:]], expected, collection=linked) == [
        f"window {at + 1_000}: the numbers are not those that are estimated offline"
    ]


def test_silence_that_is_not_said_or_is_said_of_a_window_with_reports_is_found() -> None:
    first, silent, last = finals()
    assert found([first, last]) == [f"window {NOW + 1_000}: silent, which is not said"]
    wrong = silent.model_copy(update={"window": silent.window.model_copy(update={"end_ms": NOW + 3_000})})
    assert found([first, wrong, last]) == [f"window {NOW + 2_000}: called silent, with reports"]


def test_letters_may_be_repeated_but_not_missing_nor_with_another_reason() -> None:
    expected = Expected(rejected={(0, 1): Reason.LATE, (2, 5): Reason.BAD_MAGIC})
    letters = [((0, 1), Reason.LATE), ((2, 5), Reason.BAD_MAGIC), ((0, 1), Reason.LATE)]
    assert differences_of_letters(letters, expected) == []
    assert differences_of_letters([*letters[:1], ((2, 5), Reason.LATE), ((3, 0), Reason.TOO_SHORT)], expected) == [
        "dead letter of (2, 5): late, expected bad_magic",
        "dead letter of (3, 0): too_short, expected none",
    ]
    assert differences_of_letters(letters[1:2], expected) == ["dead letter of (0, 1): none, expected late"]
    assert late_places(letters) == {(0, 1)}


def test_what_was_deleted_before_a_commit_may_have_a_letter_but_not_one_with_another_reason() -> None:
    expected = Expected(perhaps={(3, 210): Reason.LATE})
    assert differences_of_letters([], expected) == []
    assert differences_of_letters([((3, 210), Reason.LATE)], expected) == []
    assert differences_of_letters([((3, 210), Reason.BAD_MAGIC)], expected) == [
        "dead letter of (3, 210): bad_magic, expected none"
    ]
