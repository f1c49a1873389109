"""What an extra brings is imported, or the extra is named."""

import json
import tomllib

import pytest
from packaging.requirements import Requirement

from stream_ldp.extras import MissingExtra, imported
from tests.paths import REPOSITORY

EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def test_what_is_installed_is_imported() -> None:
    assert imported("json", extra="worker") is json


def test_what_is_not_installed_names_the_extra_that_brings_it() -> None:
    with pytest.raises(MissingExtra, match=r"needs no_such_package, .*\n  -> pip install 'stream-ldp\[worker\]'"):
        imported("no_such_package.part", extra="worker")


def test_the_extras_for_users_are_those_that_are_documented() -> None:
    pages = ((REPOSITORY / "docs").rglob("*.md"), [REPOSITORY / "README.md"])
    documented = "".join(page.read_text(encoding="utf-8") for found in pages for page in found)
    for extra in ("analysis", "client", "demo", "gateway", "tracing", "worker"):
        assert extra in EXTRAS
        assert f"[{extra}]" in documented, extra
    assert "worker" in {extra for each in EXTRAS["demo"] for extra in Requirement(each).extras}
