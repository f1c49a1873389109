"""The plan of a collection of views, as it is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stream_ldp.cli.displays.views_plan import plan_document, show_plan, summary
from stream_ldp.views.plan import plan
from tests.views.examples import collection_of

if TYPE_CHECKING:
    import pytest


def test_the_plan_shows_designs_with_the_error_to_expect(capsys: pytest.CaptureFixture[str]) -> None:
    planned = plan(collection_of("epsilon: 2, ask: auto"), populations=[5_000])
    show_plan(planned)
    shown = capsys.readouterr().out
    assert "5,000 users" in shown
    assert f"{planned.design.avd[0][1]:.4f}" in shown
    document = json.loads(json.dumps(plan_document(planned)))
    assert document["design"]["avd"] == [{"users": 5_000, "avd": planned.design.avd[0][1]}]
    assert "to hide whole records, views" in shown
    assert [each["equal"] for each in document["relations"]] == ["record", "attribute"]
    assert document["others"][0]["name"] == planned.others[0].name


def test_the_summary_counts_the_views() -> None:
    assert summary(collection_of(), lasting="windows of 10 s") == (
        "4 attributes in 6 views, each user asked about one at epsilon 4.000, 11 bits a report, 1 estimate, "
        "windows of 10 s"
    )
