"""What a row of the table is to take, and what it took in the first form that worked."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """The goal of the rows whose work begins and ends so.

    before: in the first form, on two idle cores of another machine; empty if it was not measured.
    goal: in the row's unit, or as a ratio to what stands beside it.
    """

    begins: str
    ends: str = ""
    before: str = ""
    goal: str


GOALS = (
    Goal(begins="perturbing 16 x 2 values, RR-LDP", ends="seeded", before="0.37 us", goal="0.08 us"),
    Goal(begins="perturbing 16 x 2 values, RR-LDP", ends="from the OS", before="0.69 us", goal="0.25 us"),
    Goal(begins="perturbing 8 x 8 values, RR-LDP", ends="seeded", before="0.66 us", goal="0.15 us"),
    Goal(begins="perturbing 8 x 8 values, RR-LDP", ends="from the OS", before="1.8 us", goal="0.5 us"),
    Goal(begins="one report of 16 x 2 values", goal="50 us"),
    Goal(begins="a report of 2 x 2 values of a user with a ledger", before="4.8 ms", goal="100 us"),
    Goal(begins="counting 16 x 2 values, 5 pairs", before="0.18 us", goal="0.025 us"),
    Goal(begins="counting 8 x 8 values, 5 pairs", before="0.6 us", goal="0.06 us"),
    Goal(begins="one EM evaluation, 3 x 8 values", before="210 ms", goal="10 ms"),
    Goal(begins="one EM evaluation, 5 x 4 values", before="25 ms", goal="10 times plain dense EM"),
    Goal(begins="2 x 8 values", ends="cold", before="134 ms", goal="25 ms"),
    Goal(begins="2 x 8 values", ends="warm", before="134 ms", goal="8 ms"),
    Goal(begins="3 x 8 values", ends="cold", before="12,800 ms", goal="800 ms"),
    Goal(begins="28 pairs of 8 x 8 values", before="6 s", goal="1.5 s"),
    Goal(begins="perturbing sets of 1 to 15 items", goal="0.3 us"),
    Goal(begins="counting reports of 7 hash bits", goal="0.3 us"),
    Goal(begins="counting reports of 8 hash bits", goal="0.3 us"),
    Goal(begins="transform of 2^20 numbers", before="12 ms", goal="5 ms"),
    Goal(
        begins="a whole worker that drains batches of 50",
        ends="by the clock on the wall",
        before="29 us",
        goal="0.5 of bare aiokafka, 20 times an agent",
    ),
    Goal(
        begins="a whole worker that drains batches of 1,",
        ends="by the clock on the wall",
        goal="0.3 of bare aiokafka, 20 times an agent",
    ),
    Goal(begins="partials that a worker sends while it drains", goal="3 MB a second"),
    Goal(begins="/livez of a worker", goal="100 ms"),
    Goal(begins="from a report to an estimate that holds it, with estimates every 1 s, at 50%", goal="1.25 s"),
)


def goal_of(work: str) -> Goal | None:
    """Return the goal of a row, None if it has none."""
    return next((each for each in GOALS if work.startswith(each.begins) and work.endswith(each.ends)), None)
