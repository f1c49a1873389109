"""The page of the package on an index: links and pictures that lead somewhere, or none."""

import re
import runpy

import pytest

from tests.paths import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
description = runpy.run_path(str(REPOSITORY / "setup.py"))["description"]


@pytest.mark.parametrize("repository", ["https://code.example/us/stream_ldp", None])
def test_no_address_of_the_page_on_an_index_is_relative(repository: str | None) -> None:
    found = description(README, repository)
    addresses = re.findall(r"\]\(([^)]+)\)", found)
    assert all(each.startswith(("https://", "#")) for each in addresses)
    assert bool([each for each in addresses if "/raw/HEAD/docs/images/page-light.png" in each]) == bool(repository)
    assert description("[![a](b.png)](c.md#d) [e](#f)", repository) == (
        f"[![a]({repository}/raw/HEAD/b.png)]({repository}/blob/HEAD/c.md#d) [e](#f)" if repository else " [e](#f)"
    )
