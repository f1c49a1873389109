"""These tests hold docs/architecture.md against the repository."""

from __future__ import annotations

import re
import tomllib

from tests.paths import REPOSITORY

ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_and_folder_that_the_architecture_names_exists() -> None:
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:py|toml|md))`", ARCHITECTURE))
    assert len(named) > 40
    assert [path for path in sorted(named) if not (REPOSITORY / path).exists()] == []


def test_the_floors_of_the_architecture_are_those_that_imports_are_held_to() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    floors: dict[int, set[str]] = {}
    for floor, room in re.findall(r"^\| (\d+) \| `stream_ldp/(\w+)(?:\.py)?` \|", ARCHITECTURE, flags=re.MULTILINE):
        floors.setdefault(int(floor), set()).add(room)
    assert [floors[floor] for floor in sorted(floors, reverse=True)] == [set(layer.split(" | ")) for layer in layers]
