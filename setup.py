"""The long description for a package index: the README, whose links and pictures lead to the repository.

All else is in pyproject.toml. An index shows no file beside the README: relative addresses would lead nowhere.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent

#: A picture or a link of Markdown with an address in the repository: its text, and the address.
_PICTURE = re.compile(r"!\[([^]]*)\]\((?!https?:|#)([^)]+)\)")
_LINK = re.compile(r"(?<!!)\[((?:[^][]|!\[[^]]*\]\([^)]*\))*)\]\((?!https?:|#)([^)]+)\)")


def description(readme: str, repository: str | None) -> str:
    """Return the README for an index.

    repository: address of the repository, which shows files under `blob/HEAD`, and has them as they are under
        `raw/HEAD`; None for none: the text then has neither its pictures nor the links into it.
    """
    if repository is None:
        return _LINK.sub(r"\1", _PICTURE.sub("", readme))
    root = repository.rstrip("/")
    return _LINK.sub(rf"[\1]({root}/blob/HEAD/\2)", _PICTURE.sub(rf"![\1]({root}/raw/HEAD/\2)", readme))


if __name__ == "__main__":
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        long_description=description(
            (HERE / "README.md").read_text(encoding="utf-8"), project.get("urls", {}).get("Repository")
        ),
        long_description_content_type="text/markdown",
    )
