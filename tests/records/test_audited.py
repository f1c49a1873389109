"""These tests audit mechanisms for records, and collections that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.audits import document


def test_a_mechanism_is_audited_like_the_collection_that_has_it(collection: Path) -> None:
    text = collection.read_text().replace("{name: bathing, values: [no, yes]}, ", "")
    collection.write_text(text.replace("none, some, full", "none, some"))
    assert document(collection, "--exact") == document("rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2", "--exact")


@pytest.mark.parametrize(
    "sizes", [*(pytest.param(sizes, marks=pytest.mark.long) for sizes in ("x".join(["24"] * 16), "9x2x5")), "2"]
)
def test_a_collection_as_large_as_users_have_can_be_enumerated(sizes: str) -> None:
    answer = document(f"rr-ldp:f=0.25,p=0.25,q=0.75,sizes={sizes}", "--exact")
    assert len(answer["results"]) == 4 * (sizes.count("x") + 1)
    assert {row["reports"] for row in answer["changing"]} >= {2, 3, 4}


def test_an_attribute_of_many_values_is_audited_in_miniature() -> None:
    exact = document("k-rr:epsilon=2,sizes=2x3000", "--exact")
    assert "sizes=(3, 2)" in exact["miniature"]
    assert [row["claimed"] for row in exact["results"][:1]] == pytest.approx([2.0])
