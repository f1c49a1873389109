"""The grammar of `--vary`, and what a collection may leave to its table."""

import math
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.cli.evaluate.cases import Ways, cases, drawn_sets, group_of, plain, put, read_varied
from stream_ldp.cli.evaluate.known_table import TableFile
from stream_ldp.collection import CollectionError
from stream_ldp.errors import ParameterError

TEXT = "{mechanism: {kind: rr-ldp, f: 0.5}, attributes: [a, {name: b, values: [x, y, z]}]}"


@pytest.fixture
def table(tmp_path: Path) -> TableFile:
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\n0,x,u\n1,y,v\n1,z,u\n", encoding="utf-8")
    return TableFile(path, missing=None)


def found(table: TableFile, *vary: str, text: str = TEXT, **options: Any) -> list[Any]:
    given: dict[str, Any] = {"source": "care.yaml", "varied": read_varied(vary), "table": table} | options
    return list(cases(text, **given))


def test_keys_multiply_and_the_last_one_varies_fastest(table: TableFile) -> None:
    made = found(table, "mechanism.f=0.25,0.5", "estimates.0.method=em,lasso")
    assert [each.varied for each in made] == [
        {"mechanism.f": f, "estimates.0.method": method} for f in (0.25, 0.5) for method in ("em", "lasso")
    ]
    assert [(each.collection.mechanism_spec.f, each.collection.estimates[0].method) for each in made] == [
        (f, method) for f in (0.25, 0.5) for method in ("em", "lasso")
    ]


def test_name_window_values_and_estimates_may_be_left_out(table: TableFile) -> None:
    (case,) = found(table)
    collection = case.collection
    assert (collection.name, collection.window.size_ms) == ("evaluation", 60_000)
    assert [(each.name, each.values) for each in collection.attributes] == [("a", ("0", "1")), ("b", ("x", "y", "z"))]
    assert [each.of for each in collection.estimates] == [("a", "b")]
    (whole,) = found(table, text="mechanism: {kind: k-rr, epsilon: 2}")
    assert [each.name for each in whole.collection.attributes] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mechanism: {kind: sampled, epsilon: 1}", "SampledCollection"),
        ("mechanism: {kind: sampled, epsilon: 1, ask: pairs}", "ViewsCollection"),
    ],
)
def test_the_kind_is_that_of_the_file(table: TableFile, text: str, kind: str) -> None:
    (case,) = found(table, text=text)
    assert type(case.collection).__name__ == kind


def test_whole_mappings_lists_and_quoted_text_vary_too(table: TableFile) -> None:
    made = found(
        table,
        "mechanism={kind: rr-ldp, f: 0.25},{kind: k-rr, epsilon: 2}",
        "estimates.0.of=[a, b],[b]",
        "collection='a','b'",
    )
    assert len(made) == 8
    assert made[0].varied == {
        "mechanism": {"kind": "rr-ldp", "f": 0.25},
        "estimates.0.of": ["a", "b"],
        "collection": "a",
    }
    assert made[-1].collection.mechanism_spec.kind == "k-rr"
    assert made[-1].collection.estimates[0].of == ("b",)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("mechanism.f", "expected a key and its values, such as mechanism.epsilon=1,2,4"),
        ("=1", "expected a key and its values"),
        ("mechanism.f=", "expected values of YAML with commas between them"),
        ("mechanism.f=[1", "expected values of YAML"),
        ("mechanism.f=1], more: [2", "expected values of YAML"),
        ("mechanism.f=1,1", "a value is given twice"),
    ],
)
def test_what_is_no_key_with_values_is_refused(option: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_varied([option])


def test_a_key_is_varied_once() -> None:
    with pytest.raises(ParameterError, match=r"mechanism\.f is given twice"):
        read_varied(["mechanism.f=1", "mechanism.f=2"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "mechanism.epsilon=1",
            r"care\.yaml:1:13: mechanism\.epsilon: rr-ldp has no epsilon, which is for k-rr, k-subset and "
            r"hashed-k-rr: leave it out",
        ),
        ("mechanism.ff=1", r"mechanism\.ff: unknown key; did you mean 'f'\?"),
        ("mechanism.f=x", r"mechanism\.f: 'x' is not a number"),
        ("estimates.0.method=ems", r"estimates\.0\.method: expected 'em', 'lasso' or 'lremh', got 'ems'"),
        ("mechanism.kind=rr", r"mechanism\.kind: expected "),
    ],
)
def test_a_value_that_the_file_cannot_have_is_refused_with_its_place(
    table: TableFile, option: str, message: str
) -> None:
    key, _, value = option.partition("=")
    with pytest.raises(CollectionError, match=rf"with {key}=.*{value}.*:\n.*{message}"):
        found(table, option)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("mechanism.f.x", "'x' is sought in a value without keys"),
        ("attributes.7.name", "'7' is sought in a list of 2, counted from 0"),
        ("attributes.name", "'name' is sought in a list of 2"),
    ],
)
def test_a_key_that_can_be_nowhere_is_refused(table: TableFile, key: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        found(table, f"{key}=1")


def test_keys_are_put_into_mappings_and_lists_that_are_made_on_the_way() -> None:
    document: dict[str, Any] = {"window": {"size": "5m"}, "attributes": [{"name": "a"}]}
    put(document, "window.size", "1m", unless_there=True)
    put(document, "window.hop", "1m")
    put(document, "estimates.0.method", "em")
    put(document, "attributes.1.name", "b")
    assert document == {
        "window": {"size": "5m", "hop": "1m"},
        "attributes": [{"name": "a"}, {"name": "b"}],
        "estimates": [{"method": "em"}],
    }


def test_values_are_shown_as_numbers_where_they_are() -> None:
    assert plain(["1", "0.5", "no", "true", "1e3", "nan", {"a": "2"}]) == [
        1,
        0.5,
        "no",
        "true",
        1000.0,
        "nan",
        {"a": 2},
    ]


def test_windows_state_who_returns_where_they_learn_from_each_other(table: TableFile) -> None:
    def returning(text: str) -> float | None:
        (case,) = found(table, text=text, returning=0.5)
        assert case.varied == {"returning": 0.5}
        share: float | None = case.collection.window.returning
        return share

    mechanism = "mechanism: {kind: rr-ldp, f: 0.5, p: 0.25, q: 0.75}"
    assert returning(mechanism) == 0.5
    assert returning(f"{{{mechanism}, window: {{size: 1m, returning: 0}}}}") == 0
    assert returning(f"{{{mechanism}, window: {{size: 4m, hop: 1m}}}}") is None
    assert returning(f"{{{mechanism}, linked: 4m}}") is None


WAYS = Ways(numbers=[2, 1], sets=2, most_cells=6, seed=0)


def test_random_sets_take_the_place_of_estimates_and_have_the_form_of_the_first(table: TableFile) -> None:
    text = "{mechanism: {kind: rr-ldp, f: 0.5}, estimates: [{name: x, of: [a, b, c], method: em}]}"
    (case,) = found(table, text=text, ways=WAYS)
    estimates = case.collection.estimates
    assert {each.method for each in estimates} == {"em"}
    assert [len(each.of) for each in estimates] == [2, 2, 1, 1]
    assert [group_of(each.name) for each in estimates] == ["2-way", "2-way", "1-way", "1-way"]
    assert group_of("joint") == "joint"


@pytest.mark.parametrize(
    ("numbers", "most_cells", "message"),
    [([4], 5_000, "--ways 4: there are 3 attributes"), ([2], 3, "no 2 attributes have at most 3 cells")],
)
def test_sets_that_there_are_not_are_refused(
    table: TableFile, numbers: list[int], most_cells: int, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        found(
            table,
            text="mechanism: {kind: rr-ldp, f: 0.5}",
            ways=Ways(numbers=numbers, sets=2, most_cells=most_cells, seed=0),
        )


def test_sets_are_drawn_once_each_within_the_cells() -> None:
    sizes = (41, 2, 3, 16, 5, 2, 9, 7)
    found = drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert len(found) == len(set(found)) == 15
    assert all(of == tuple(sorted(of)) and math.prod(sizes[place] for place in of) <= 300 for of in found)
    assert found == drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=4)
    assert found != drawn_sets(sizes, ways=3, sets=15, most_cells=300, seed=5)
    many = drawn_sets((2,) * 60, ways=5, sets=10, most_cells=32, seed=0)
    assert len(set(many)) == 10
    assert drawn_sets((9, 9), ways=2, sets=3, most_cells=80, seed=0) == []
