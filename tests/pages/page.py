"""The pages that readers see, and the collections that they show."""

import re
from functools import cache

from stream_ldp.collection import Collection
from stream_ldp.kinds import parse_collection
from tests.paths import REPOSITORY

#: The pages with the collections that others refer to by the names of their files.
SHOWN = {
    "survey.yaml": "docs/tutorial/survey.md",
    "films.yaml": "docs/tutorial/item-sets.md",
    "daily-films.yaml": "docs/tutorial/item-sets.md",
    "memoised-films.yaml": "docs/privacy.md",
}


@cache
def text_of(page: str) -> str:
    """Return the text of a page, given by its path in the repository."""
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(page: str, language: str = "") -> list[str]:
    """Return the fenced code of a language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(page), flags=re.DOTALL | re.MULTILINE)
    return [code for known, code in fenced if known == language]


def examples() -> dict[str, str]:
    """Return the collections that the pages show: their text by the name of their file."""
    found = {}
    for name, page in SHOWN.items():
        collection = "care-survey" if name == "survey.yaml" else name.removesuffix(".yaml")
        (found[name],) = [text for text in blocks(page, "yaml") if text.startswith(f"collection: {collection}\n")]
    return found


def example(name: str) -> Collection:
    """Return a collection that the pages show, by the name of its file."""
    return parse_collection(examples()[name], source=SHOWN[name])


def table(page: str, name: str) -> str:
    """Return a part of a page that a test holds against the code."""
    (found,) = re.findall(rf"<!-- {name}: .*? -->\n(.*?)<!-- /{name} -->", text_of(page), flags=re.DOTALL)
    return str(found)
