"""A stream's users move from one end of the population to the other, and returning users repeat themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from stream_ldp.evaluation.distance import joint_of
from stream_ldp.mechanisms import RRLDP
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.stream import Pane, Stream

#: A record of one attribute of five values, each as often; it drifts by its own value.
ROWS = np.repeat(np.arange(5), 20)


def panes(
    *, returning: float = 0.0, drift: bool = True, users: int = 2_000, number: int = 5, turns: int = 1
) -> list[Pane]:
    sampling, noise = np.random.SeedSequence(1).spawn(2)
    stream = Stream(
        population=ROWS[:, None],
        drift=ROWS if drift else None,
        mechanism=RRLDP(sizes=(5,), f=0.2),
        users=(users,),
        panes=number,
        returning=returning,
        turns=turns,
    )
    return list(stream.draw(sampling, noise))


def truths(found: list[Pane]) -> list[list[float]]:
    return [joint_of(pane.people, (5,)).tolist() for pane in found]


@pytest.mark.parametrize("returning", [0.0, 0.5, 1.0])
def test_the_users_move_from_the_lowest_two_fifths_to_the_highest(returning: float) -> None:
    """Five standard deviations of the share of 2,000 users are 0.06 at most."""
    first, _, middle, _, last = truths(panes(returning=returning))
    np.testing.assert_allclose(first, [0.5, 0.5, 0, 0, 0], atol=0.06)
    np.testing.assert_allclose(middle, [0.25, 0.25, 0, 0.25, 0.25], atol=0.06)
    np.testing.assert_allclose(last, [0, 0, 0, 0.5, 0.5], atol=0.06)


def test_without_drift_all_rows_report_in_every_pane() -> None:
    np.testing.assert_allclose(truths(panes(drift=False)), 0.2, atol=0.06)


def test_users_who_return_with_the_same_records_repeat_their_permanent_responses() -> None:
    def counts(returning: float) -> Iterator[list[int]]:
        for pane in panes(returning=returning, drift=False):
            yield RowCounts.of(pane.rows, bits=5).counts.tolist()

    first, *others = counts(1.0)
    assert others == [first] * 4
    first, *others = counts(0.0)
    assert all(other != first for other in others)


def test_users_who_return_keep_their_number_and_new_ones_have_their_own() -> None:
    users = [pane.users.tolist() for pane in panes(returning=0.5, drift=False, users=500, number=16)]
    assert all(each[:250] == users[0][:250] for each in users)
    new = [user for each in users for user in each[250:]]
    assert len(set(new)) == len(new) == 16 * 250
    assert set(new).isdisjoint(users[0][:250])


def test_panes_have_numbers_of_users_in_turn() -> None:
    stream = Stream(
        population=ROWS[:, None],
        drift=ROWS,
        mechanism=RRLDP(sizes=(5,), f=0.2),
        users=(40, 10),
        panes=5,
        returning=0.5,
    )
    found = [pane.users.tolist() for pane in stream.draw(*np.random.SeedSequence(1).spawn(2))]
    assert [len(each) for each in found] == [40, 10, 40, 10, 40]
    assert found[1][:5] == found[0][:5]
    assert len({user for each in found for user in each}) == 20 + 20 + 5 + 20 + 5 + 20


def test_users_who_take_turns_come_again_with_the_same_permanent_responses() -> None:
    found = panes(returning=1.0, drift=False, users=300, number=6, turns=3)
    users = [set(pane.users.tolist()) for pane in found]
    assert users[:3] == users[3:]
    assert sum(map(len, users[:3])) == len(set.union(*users)) == 900
    counts = [RowCounts.of(pane.rows, bits=5).counts.tolist() for pane in found]
    assert counts[:3] == counts[3:]
    assert counts[0] != counts[1] != counts[2]
