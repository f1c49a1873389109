"""A plan as data: what JSON has of it, and that it is valid JSON."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from stream_ldp.pipeline.budgets import BudgetPlan
from stream_ldp.pipeline.plan import ErrorPlan, Plan, Section, errors_in_short, finite, guess_in_short


@dataclass(frozen=True, kw_only=True)
class _Plan(Plan):
    errors: tuple[ErrorPlan, ...]
    budgets: tuple[BudgetPlan, ...]

    def in_short(self) -> Iterator[str]:
        yield guess_in_short(math.log(4), seen="a report", between="trips")
        yield errors_in_short("The error", [(each.users, each.standard_error) for each in self.errors])

    def sections(self) -> Iterator[Section]:
        yield self.head(("a report", "9 bits"))


PLAN = _Plan(
    collection="trips",
    fingerprint="0f",
    errors=(ErrorPlan(users=10, standard_error=0.5),),
    budgets=(BudgetPlan(budget=8.0, times=math.inf, days=math.inf),),
)


def test_a_document_has_every_field_and_no_infinity() -> None:
    assert json.loads(json.dumps(finite(asdict(PLAN)), allow_nan=False)) == {
        "collection": "trips",
        "fingerprint": "0f",
        "errors": [{"users": 10, "standard_error": 0.5}],
        "budgets": [{"budget": 8.0, "times": "inf", "days": "inf"}],
    }


def test_the_first_section_names_the_collection_and_states_the_plan_in_short() -> None:
    assert list(PLAN.sections()) == [
        Section(
            title="Collection trips, fingerprint 0f",
            rows=(("a report", "9 bits"),),
            notes=(
                "In short: an attacker who has seen a report and starts from 50:50 between two trips guesses right "
                "at most 80.0 % of the time (epsilon 1.387).",
                "The error is about 0.5 with 10 users in a window.",
            ),
        )
    ]


def test_errors_are_stated_with_the_fewest_and_the_most_users() -> None:
    assert errors_in_short("The error", [(10, 0.5), (100, 0.25), (1_000, 0.0312)]) == (
        "The error is about 0.5 with 10 users in a window and 0.031 with 1,000."
    )


def test_a_guess_that_is_nearly_always_right_is_called_weak() -> None:
    weak, strong = (guess_in_short(epsilon, seen="a report", between="trips") for epsilon in (11.0, 4.5))
    assert weak.endswith("right over 99.9 % of the time (epsilon 11.000). This hides little.")
    assert strong.endswith("right at most 99.0 % of the time (epsilon 4.500).")
