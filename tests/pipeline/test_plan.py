"""A plan as data: what JSON has of it, and that it is valid JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from stream_ldp.pipeline.budgets import BudgetPlan
from stream_ldp.pipeline.plan import ErrorPlan, Plan, Section, document


@dataclass(frozen=True, kw_only=True)
class _Plan(Plan):
    errors: tuple[ErrorPlan, ...]
    budgets: tuple[BudgetPlan, ...]

    def sections(self) -> Iterator[Section]:
        yield self.head(("a report", "9 bits"))


PLAN = _Plan(
    collection="trips",
    fingerprint="0f",
    errors=(ErrorPlan(users=10, standard_error=0.5),),
    budgets=(BudgetPlan(budget=8.0, times=math.inf, days=math.inf),),
)


def test_a_document_has_every_field_and_no_infinity() -> None:
    assert json.loads(json.dumps(document(PLAN), allow_nan=False)) == {
        "collection": "trips",
        "fingerprint": "0f",
        "errors": [{"users": 10, "standard_error": 0.5}],
        "budgets": [{"budget": 8.0, "times": "inf", "days": "inf"}],
    }


def test_the_first_section_names_the_collection() -> None:
    assert list(PLAN.sections()) == [
        Section(title="Collection trips, fingerprint 0f", rows=(("a report", "9 bits"),))
    ]
