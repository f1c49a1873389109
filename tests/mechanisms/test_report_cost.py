"""What a report costs is read by its kind."""

import pytest
from pydantic import BaseModel

from stream_ldp.mechanisms import MECHANISMS, AnswerCost, RepeatedCost, ReportCost, SignCost
from stream_ldp.mechanisms.bloom import BloomCost
from stream_ldp.mechanisms.report_cost import cost_of


def _parsed(kind: str, example: str) -> ReportCost:
    """Return the parameters of a mechanism for records that its example has."""
    given = dict(each.split("=") for each in example.split(","))
    return MECHANISMS[kind].model_validate({"kind": kind, **given})


@pytest.mark.parametrize(
    "cost",
    [
        *(_parsed(kind, spec.example) for kind, spec in MECHANISMS.items()),
        AnswerCost(epsilon=1.0),
        BloomCost(hashes=2, permanent=2**32 - 1, p=1, q=2**32),
        RepeatedCost(size=2, permanent=2**31, fresh=2**31),
        SignCost(permanent=2**32 - 1, fresh=2**32 - 1),
    ],
)
def test_every_cost_is_read_as_a_book_has_it(cost: ReportCost) -> None:
    assert isinstance(cost, BaseModel)
    assert cost_of(cost.model_dump()) == cost


def test_an_unknown_kind_costs_nothing_known() -> None:
    with pytest.raises(ValueError, match="no cost is of kind 'rapporr'"):
        cost_of({"kind": "rapporr"})
