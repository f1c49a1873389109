"""The documentation site: it is built strictly, from the code as it is, and asks no other host."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_ldp.cli import _Root
from stream_ldp.kafka.settings import Settings
from stream_ldp.schemas.asyncapi import asyncapi
from stream_ldp.schemas.collection_file import collection_file_schema
from stream_ldp.schemas.openapi import admin_port, gateway
from stream_ldp.schemas.openapi import page as page_document
from tests.paths import REPOSITORY

pytest.importorskip("mkdocs", reason="the documentation is built with the extra `docs`: pip install .[docs]")


@pytest.fixture(scope="module")
def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("hooks", REPOSITORY / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_collection_file_has_every_key(hooks: Any) -> None:
    page = hooks.collection_file()
    for name, part in collection_file_schema()["$defs"].items():
        for key in part.get("properties", {}):
            assert f"| `{key}` |" in page.partition(f"{{ #{name.lower()} }}")[2], (name, key)


def test_the_reference_of_the_settings_has_every_setting(hooks: Any) -> None:
    page = hooks.settings()
    for name, field in Settings.model_fields.items():
        assert f"| `{name}` | {field.description} |" in page
        assert f"`STREAM_LDP_{name.upper()}`" in page


def test_the_reference_of_the_commands_has_every_command(hooks: Any) -> None:
    page = hooks.commands()
    for name, command in _Root.table.items():
        assert f"## stream-ldp {name}\n" in page
        assert command.summary in page
    assert "## stream-ldp dead-letters list\n" in page
    assert "| `--wanted` |" in page


def test_the_page_of_topics_has_every_topic_message_and_retention(hooks: Any) -> None:
    page, document = hooks.topics(), asyncapi()
    for name, channel in document["channels"].items():
        _, _, section = page.partition(f"\n## {name}\n")
        assert f"`{channel['address']}`" in section.partition("\n## ")[0]
        assert "| retention | " in section.partition("\n## ")[0]
    for name, message in document["components"]["messages"].items():
        assert f"\n### {name}\n" in page
        assert message["bindings"]["kafka"]["key"]["description"].replace("|", "\\|") in page


def test_the_page_of_http_has_every_path_with_its_parameters_and_statuses(hooks: Any) -> None:
    whole = hooks.http()
    for document in (gateway(), page_document(), admin_port()):
        _, _, page = whole.partition(f"\n## {document['info']['title']}\n")
        for path, uses in document["paths"].items():
            for method, use in uses.items():
                if method == "parameters":
                    continue
                _, _, section = page.partition(f"\n### {method.upper()} {path}\n")
                section = section.partition("\n### ")[0]
                assert use["summary"] in section
                assert all(f"| {code} | " in section for code in use["responses"])


def test_a_chart_becomes_a_picture_with_its_numbers(hooks: Any) -> None:
    page = hooks.chart('x-axis "sizes" ["1", "10"]\ny-axis "us" \nline [1.13, 2.5]'.replace('"us" ', '"us"'))
    assert page.startswith("<svg")
    assert all(f">{each}<" in page for each in ("1.13", "2.5", "1", "10", "sizes"))


@pytest.mark.long
def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"],
        cwd=REPOSITORY,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'(?:src="|<link[^>]*href="|url\()(?:https?:)?//[^"]*', text), page
