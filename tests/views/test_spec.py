"""What a collection file may ask."""

from __future__ import annotations

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.views.design import candidates
from tests.views.examples import NUMBERS, SIZES, TEXT, collection_of, numbers_of

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def asked(mechanism: str) -> list[tuple[int, ...]]:
    return [view.of for view in collection_of(mechanism, estimates="[{name: a, of: [walks]}]").questions.questions]


def test_what_is_asked_is_what_the_file_says() -> None:
    assert asked("epsilon: 1, ask: pairs") == PAIRS
    assert asked("epsilon: 1, ask: attributes") == [(0,), (1,), (2,), (3,)]
    assert asked("epsilon: 1, ask: [[region, walks], [diet]]") == [(0, 3), (2,)]


def test_auto_asks_by_the_users_and_the_dependence_to_expect() -> None:
    assert asked("epsilon: 1, ask: auto, users: 200, dependence: 0.001") == [(0,), (1,), (2,), (3,)]
    assert len(asked("epsilon: 4, ask: auto, users: 1000000")[0]) >= 2


def test_users_of_different_designs_have_different_fingerprints() -> None:
    found = {collection_of(f"epsilon: 4, ask: {ask}").fingerprint for ask in ("pairs", "[[walks, bathes]]")}
    found.add(collection_of("epsilon: 4, ask: pairs, oracle: hadamard").fingerprint)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        (
            "epsilon: 1, ask: [[walks, bath]]",
            r"3:\d+: mechanism\.ask\.0\.1: 'bath' is not an attribute; did you mean",
        ),
        ("epsilon: 1, ask: [[walks, walks]]", r"mechanism\.ask\.0\.1: 'walks' is in this view twice"),
        ("epsilon: 1, ask: [[walks, diet], [diet, walks]]", r"mechanism\.ask\.1: diet, walks are view 1 already"),
        ("epsilon: 1, ask: []", r"mechanism\.ask: "),
        ("epsilon: 1, ask: [[]]", r"mechanism\.ask: expected auto, .* got \[\[\]\]$"),
        ("epsilon: 1, ask: everything", r"mechanism\.ask: "),
        (
            "epsilon: 1, per_report: 1, ask: pairs",
            r"mechanism\.per_report: one report may cost less than all: 1.0 is not",
        ),
        (
            "epsilon: 2, per_report: 1, ask: pairs, oracle: hadamard",
            r"mechanism\.per_report: is for answers by oracle k-rr; leave it out for hadamard",
        ),
        ("epsilon: 1, ask: auto, users: 1", r"mechanism\.users: 1: a user reports one view; a design needs 2"),
        ("epsilon: 1, ask: pairs, users: 9", r"mechanism\.users: is for `ask: auto`, .* leave it out for pairs"),
        ("epsilon: 1, ask: [[walks]], dependence: 0.1", r"mechanism\.dependence: is for `ask: auto`"),
        ("ask: pairs", r"mechanism\.epsilon: this key is required: nats that an answer may cost"),
        (
            "epsilon: 1",
            r"mechanism\.ask: this key is required: with `estimates`, what users are asked about together",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_place(mechanism: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(mechanism)


def test_a_view_of_too_many_cells_is_refused() -> None:
    values = f"[{', '.join(map(str, range(65)))}]"
    text = TEXT.format(mechanism="epsilon: 1, ask: pairs", estimates="[{name: a, of: [walks]}]", window="")
    text = text.replace("[no, yes]", values)
    with pytest.raises(CollectionError, match=r"mechanism\.ask: a view of walks, bathes has 4,225 cells"):
        type(collection_of()).parse(text)


def test_any_text_has_no_cells() -> None:
    text = TEXT.format(mechanism="epsilon: 1, ask: pairs", estimates="[{name: a, of: [walks]}]", window="")
    with pytest.raises(CollectionError, match=r"attributes\.2: attribute 'diet' is any text"):
        type(collection_of()).parse(text.replace("values: [meat, fish, plants]", "candidates: [meat]"))


def test_a_design_is_asked_for_by_the_name_that_a_plan_shows() -> None:
    named = collection_of("epsilon: 4, ask: cover 16").questions.questions
    (cover,) = candidates(SIZES, epsilon=4.0, names=["cover 16"])
    assert [each.of for each in named] == list(cover.views)
    assert [each.weight for each in named] == list(cover.weights)
    with pytest.raises(CollectionError, match=r"mechanism\.ask: these attributes have no such design"):
        collection_of("epsilon: 4, ask: plane")
    with pytest.raises(CollectionError, match="a design that `plan` shows"):
        collection_of("epsilon: 4, ask: cover 17")


def test_independent_attributes_are_asked_as_single_ones_and_every_estimate_is_their_product() -> None:
    single = collection_of("epsilon: 4, ask: attributes", estimates="[{name: a, of: [walks]}]")
    product = collection_of("epsilon: 4, ask: independent", estimates="[{name: a, of: [walks, bathes]}]")
    assert single.fingerprint == product.fingerprint


def test_one_attribute_is_asked_about_with_each_other_one() -> None:
    assert asked("epsilon: 1, ask: {with: diet}") == [(0, 2), (1, 2), (2, 3)]
    assert collection_of("epsilon: 1, ask: {with: walks}").mechanism_spec.asked == "walks with each other attribute"


def test_attributes_depend_on_each_other_as_far_as_they_depend_on_the_one_that_is_asked_with_all() -> None:
    found = collection_of("epsilon: 1, ask: {with: diet}", estimates="[{name: a, of: [walks, diet, region]}]")
    assert found.sizes_of(found.estimates[0]) == (2, 3, 2)
    with pytest.raises(CollectionError, match=r"estimates\.0\.of: no view has walks and region together"):
        collection_of("epsilon: 1, ask: {with: diet}", estimates="[{name: a, of: [walks, region]}]")


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        ("{with: diets}", r"mechanism\.ask\.with: 'diets' is not an attribute; did you mean"),
        ("{with: diet, and: walks}", r"mechanism\.ask: expected auto, .* such as {with: a}"),
    ],
)
def test_an_attribute_that_is_not_there_is_asked_with_none(ask: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(f"epsilon: 1, ask: {ask}")


@pytest.mark.parametrize(
    ("mechanism", "old", "new", "problem"),
    [
        ("epsilon: 2, ask: pairs, cells: 1", "", "", r"mechanism\.cells: .*greater than or equal to 2"),
        ("epsilon: 2, per_report: 1, ask: pairs", "", "", r"mechanism\.per_report: answers about 'age', a number"),
        (
            "epsilon: 2, ask: pairs",
            "[0, 100]",
            "[0, 100], quantiles: [0.5]",
            r"attributes\.1\.quantiles: quantiles are",
        ),
        ("epsilon: 2, ask: pairs", "[0, 100]", "[5, 5]", "smaller one first"),
    ],
)
def test_what_views_do_not_tell_of_numbers_is_refused(mechanism: str, old: str, new: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        type(collection_of()).parse(NUMBERS.format(mechanism=mechanism).replace(old, new))


def test_cells_without_numbers_are_refused() -> None:
    with pytest.raises(CollectionError, match=r"mechanism\.cells: is for attributes with a `range`"):
        collection_of("epsilon: 2, ask: pairs, cells: 4")


def test_cells_of_numbers_grow_with_the_users_of_a_view() -> None:
    for ask, users, cells in (("pairs", 10_000, 4), ("pairs", 200_000, 8), ("[[age, hours, sex]]", 200_000, 10)):
        assert numbers_of(f"epsilon: 2, ask: {ask}, users: {users}").record_sizes == (cells, cells, 2)


def test_a_number_alone_is_asked_for_by_a_square_wave() -> None:
    alone = numbers_of("epsilon: 2, ask: auto").questions.questions[:2]
    assert [(each.of, each.randomizer.kind) for each in alone] == [((0,), "piecewise"), ((1,), "piecewise")]
