"""Collections of views, and which estimates their views determine."""

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.views.collection import ViewsCollection
from tests.views.examples import TEXT, collection_of, users


@pytest.mark.parametrize(
    ("mechanism", "estimates", "problem"),
    [
        (
            "ask: [[walks, bathes], [bathes, diet]]",
            "[{name: a, of: [walks, bathes]}, {name: b, of: [walks, bathes, diet]}]",
            r"9:\d+: estimates\.1\.of: no view has walks and diet together: ask about it",
        ),
        (
            "ask: [[walks, bathes]]",
            "[{name: a, of: [region]}]",
            r"estimates\.0\.of: no view has region: ask about it",
        ),
        ("ask: attributes", "[{name: a, of: [walks, diet]}]", r"no view has walks and diet together"),
        ("ask: pairs", "[{name: a, of: [wolks]}]", r"estimates\.0\.of\.0: 'wolks' is not an attribute; did you mean"),
        ("ask: pairs", "[{name: a, of: [walks]}, {name: a, of: [diet]}]", "estimate names must be distinct"),
        ("ask: pairs", "[]", r"estimates: "),
    ],
)
def test_an_estimate_that_no_view_determines_is_refused_with_what_is_missing(
    mechanism: str, estimates: str, problem: str
) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(f"epsilon: 1, {mechanism}", estimates=estimates)


def test_records_of_views_have_no_published_form() -> None:
    text = TEXT.format(mechanism="epsilon: 1, ask: pairs", estimates="[{name: a, of: [diet]}]", window="")
    with pytest.raises(CollectionError, match=r"synthesis\.stop: views are fitted in one way"):
        ViewsCollection.parse(f"{text}synthesis: {{records: 5, stop: paper}}\n")


def test_views_determine_all_attributes_whose_pairs_they_have() -> None:
    collection = collection_of(
        "epsilon: 1, ask: [[walks, bathes], [bathes, diet], [walks, diet]]",
        estimates="[{name: a, of: [diet, walks, bathes]}]",
    )
    (estimate,) = collection.series
    assert collection.sizes_of(estimate) == (3, 2, 2)
    assert collection.positions_of(estimate.of) == (2, 0, 1)
    people = users(10)
    assert (collection.columns_of(people, estimate)[0] == people["2"]).all()


def test_auto_leaves_pairs_out_and_answers_for_them_all_the_same() -> None:
    collection = collection_of(
        "epsilon: 1, ask: auto, users: 200, dependence: 0.001", estimates="[{name: a, of: [walks, diet]}]"
    )
    assert all(len(question.of) == 1 for question in collection.questions.questions)
