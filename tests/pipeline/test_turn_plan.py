"""The section of a plan about turns says how often one comes and what windows cost."""

from __future__ import annotations

from stream_ldp.kinds import parse_collection, w_event_of
from stream_ldp.pipeline.turn_plan import turn_plan, turn_section

TEXT = """\
collection: care
mechanism: {kind: k-rr, epsilon: 1}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 1h}
estimates: [{name: bathing, of: [bathing]}]
rotate: 10
"""


def test_a_plan_compares_turns_with_dividing_the_epsilon() -> None:
    collection = parse_collection(TEXT)
    turns = turn_plan(collection, w_event_of(collection))
    assert (turns.windows, turns.every_ms) == (10, 36_000_000)
    assert turns.epsilon == 10 * turns.divided
    assert turn_section(turns).rows == (
        ("a user's turn comes", "once in 10h"),
        ("any 10 windows cost", "1.000"),
        ("in place of turns, each window would have", "0.100"),
    )
