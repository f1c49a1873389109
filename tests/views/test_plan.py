"""The plan of a collection of views."""

import pytest

from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.plan import ExpectedAVD, plan
from tests.plans import text_of
from tests.views.examples import TEXT, collection_of


def test_a_plan_shows_the_design_and_those_that_it_was_chosen_from() -> None:
    planned = plan(collection_of("epsilon: 2, ask: auto, users: 1000"), populations=[1_000, 4_000_000])
    assert planned.design.avd[0].avd <= min(other.avd[0].avd for other in planned.others)
    assert planned.design.name not in {other.name for other in planned.others}
    assert [each.users for each in planned.design.avd] == [1_000, 4_000_000]
    assert planned.design.avd[1].avd < planned.design.avd[0].avd


def test_views_hide_records_better_and_rr_ldp_attributes() -> None:
    text = TEXT.format(mechanism="epsilon: 2, ask: pairs", estimates="[{name: a, of: [walks]}]", window="")
    more = "".join(f"  - {{name: a{place}, values: [no, yes]}}\n" for place in range(12))
    collection = ViewsCollection.parse(text.replace("estimates:", f"{more}estimates:"))
    planned = plan(collection, populations=[20_000])
    record, attribute = planned.relations
    assert (record.record_epsilon, attribute.attribute_epsilon) == (planned.epsilon, planned.epsilon)
    assert record.attribute_epsilon * 16**2 == pytest.approx(attribute.record_epsilon)
    assert attribute.avd[0].avd < planned.design.avd[0].avd < record.avd[0].avd


def test_a_plan_states_what_reports_cost() -> None:
    planned = plan(collection_of("epsilon: 2, ask: pairs"))
    assert planned.epsilon == planned.attribute_epsilon == planned.changed == pytest.approx(2, abs=1e-6)
    # A byte for the number of the view, and a value or subset of at most 6 cells.
    assert 8 < planned.bits <= 14
    assert planned.state_bytes == 8 * planned.counters == 8 * sum(1 + cells for cells in (4, 6, 4, 6, 4, 6))


def test_rr_ldp_tells_nothing_of_an_epsilon_that_is_too_little_to_share() -> None:
    planned = plan(collection_of("epsilon: 3e-9, ask: pairs, oracle: k-rr"), populations=[20_000])
    assert planned.relations[0].avd == (ExpectedAVD(users=20_000, avd=1.0),)


def test_its_text_has_the_designs_and_which_mechanism_is_better() -> None:
    planned = plan(collection_of("epsilon: 2, ask: auto"), populations=[5_000])
    text = text_of(planned)
    assert f"| {planned.design.avd[0].avd:.4f}" in text
    assert "With 5,000 users: to hide whole records, views" in text
