"""These tests hold docs/mechanisms.md against the code."""

import re

import pytest

from stream_ldp.kinds import parse_collection
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.pairs.collection import PairsCollection
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.strings.collection import StringCollection
from stream_ldp.views.collection import ViewsCollection
from tests.benchmarks.mechanisms import TABLES
from tests.paths import REPOSITORY

PAGE = (REPOSITORY / "docs" / "mechanisms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_page_is_what_its_command_prints(name: str) -> None:
    (found,) = re.findall(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- /{name} -->", PAGE, flags=re.DOTALL)
    assert found.splitlines() == list(TABLES[name]())


def test_the_examples_of_the_page_are_collections() -> None:
    examples = map(parse_collection, re.findall(r"```yaml\n(collection.*?)```", PAGE, flags=re.DOTALL))
    sampled, views, strings, ranges, pairs, films, baskets = examples
    assert isinstance(sampled, SampledCollection)
    assert [each.name for each in sampled.attributes] == ["diet", "sleep"]
    assert isinstance(views, ViewsCollection)
    assert isinstance(strings, StringCollection)
    assert strings.method.name == "pem"
    assert isinstance(ranges, ViewsCollection)
    assert isinstance(pairs, PairsCollection)
    assert isinstance(films, ItemCollection)
    assert films.itemsets is None
    assert isinstance(baskets, ItemCollection)
    assert baskets.itemsets is not None
