"""Which files of sampled collections are of views."""

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.kinds import kind_of, parse_collection
from stream_ldp.marginals.kind import SAMPLED
from stream_ldp.views.kind import VIEWS
from tests.marginals.examples import TEXT as OF_ATTRIBUTES
from tests.views.examples import TEXT


@pytest.mark.parametrize("ask", ["ask: pairs", "ask: auto", "ask: attributes", "ask: [[walks]]"])
def test_a_file_with_estimates_is_of_views(ask: str) -> None:
    text = TEXT.format(mechanism=f"epsilon: 1, {ask}", estimates="[{name: a, of: [walks]}]", window="")
    assert kind_of(parse_collection(text)) is VIEWS


def test_a_file_that_asks_about_attributes_alone_is_not() -> None:
    for ask in ("", ", ask: attributes"):
        text = OF_ATTRIBUTES.format(mechanism=f"epsilon: 1{ask}", window="")
        assert kind_of(parse_collection(text)) is SAMPLED


def test_what_is_wrong_with_a_file_of_views_is_said_of_views() -> None:
    text = OF_ATTRIBUTES.format(mechanism="epsilon: 1, ask: pairs", window="")
    with pytest.raises(CollectionError, match=r"such as `estimates: \[{name: all, of: \[sport, health\]}\]`"):
        parse_collection(text)
