"""Plans say what errors to expect, and whether another mechanism of the same epsilon has smaller ones."""

import math

import numpy as np
import pytest

from stream_ldp.kinds import KINDS
from stream_ldp.pipeline.predicted import Compared, Predicted, predicted
from stream_ldp.records.collection import JointCollection
from tests.records.examples import TOWNS_TEXT

RECORDS = KINDS["records"]


def text_of(found: Predicted, *, table: str | None = None) -> str:
    sections = found.sections(RECORDS, table=table)
    return "\n".join("\n".join((each.title, *map(" ".join, each.rows), *each.notes)) for each in sections)


@pytest.mark.parametrize(("values", "f", "better"), [(2, 0.5, True), (12, 0.75, False)])
def test_mechanisms_are_compared_by_what_would_be_published(values: int, f: float, better: bool) -> None:
    names = ", ".join(f"v{number}" for number in range(values))
    collection = JointCollection.parse(
        f"collection: pair\nmechanism: {{kind: rr-ldp, f: {f}}}\nwindow: {{size: 60s}}\n"
        f"attributes: [{{name: a, values: [{names}]}}, {{name: b, values: [{names}]}}]\n"
        "estimates: [{name: a, of: [a]}, {name: both, of: [a, b]}]\n"
    )
    others = {other.kind: other for other in predicted(collection, RECORDS, users=[10_000]).alternatives}
    assert others.keys() == {"k-rr", "k-subset"}
    for other in others.values():
        assert other.parameters["epsilon"] == pytest.approx(collection.mechanism.epsilon(reports=math.inf) / 2)
        assert other.reports == 10_000
    assert [error < 0.95 for error in others["k-rr"].errors.values()] == [better, better]
    assert max(others["k-subset"].errors.values()) < (0.95 if better else 1.1)
    assert ("It is better for all estimates" in others["k-rr"].text()) is better


@pytest.mark.parametrize(("errors", "factor"), [((0.151, 0.244), "0.2"), ((0.97, 1.21), "1.0 to 1.2")])
def test_a_factor_has_no_more_digits_than_a_dozen_repeats_allow(errors: tuple[float, float], factor: str) -> None:
    compared = Compared(
        kind="k-rr",
        parameters={"epsilon": 1.0},
        per_report=2.0,
        instead_of=2.0,
        errors=dict(zip("ab", errors, strict=True)),
        reports=10_000,
    )
    assert f"its distances are about {factor} times these, " in compared.text()


@pytest.mark.usefixtures("few_draws")
def test_its_section_has_the_errors_of_each_estimate_and_says_whose_they_are() -> None:
    collection = JointCollection.parse(TOWNS_TEXT)
    people = np.zeros((50, len(collection.attributes)), dtype=np.int64)
    found = predicted(collection, RECORDS, users=[500, 5_000], population=people)
    lines = text_of(found, table="towns.csv").splitlines()
    for estimate in collection.estimates:
        few, many = (each for each in found.errors if each.series == estimate.name)
        row = f"{estimate.name} avd {few.metrics['avd']:.4g} {many.metrics['avd']:.4g}"
        assert row in lines
        assert 0 < many.metrics["avd"] < few.metrics["avd"] < 1
    assert "The users are drawn from towns.csv." in lines
    assert any(line.startswith("Alternative: `kind: k-rr, epsilon: ") for line in lines)


@pytest.mark.usefixtures("few_draws")
def test_errors_of_assumed_users_are_called_so() -> None:
    text = text_of(predicted(JointCollection.parse(TOWNS_TEXT), RECORDS, users=[500]))
    assert "The users are assumed: pairs of their attributes" in text
    assert "--data takes a table of yours" in text


def test_there_is_no_section_where_nothing_is_predicted() -> None:
    assert text_of(Predicted(errors=(), alternatives=())) == ""
