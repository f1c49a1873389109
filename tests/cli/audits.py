"""Run `stream-ldp audit` in this process, on collections to audit."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.audit.audited import Exact
from stream_ldp.cli import app, audit

#: The mechanism of `collection`, in one word.
MECHANISM = "rr-ldp:f=0.5,p=0.5,q=0.75,sizes=2x3"


def run(*arguments: object) -> Result:
    """Run the command; it must not end by an unexpected exception."""
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["audit", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def document(*arguments: object) -> dict[str, Any]:
    """Run the command, which must succeed, and return the JSON that it prints."""
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


#: The file of `collection`.
_SURVEY = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}
attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
window: {size: 60s}
estimates: [{name: mobility, of: [mobility]}]
"""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Write the file of a collection of records."""
    path = tmp_path / "survey.yaml"
    path.write_text(_SURVEY)
    return path


@pytest.fixture(scope="module")
def enumerated(tmp_path_factory: pytest.TempPathFactory) -> Exact:
    """Enumerate the mechanism of `collection`, which takes a second."""
    path = tmp_path_factory.mktemp("enumerated") / "survey.yaml"
    path.write_text(_SURVEY)
    return audit.read(str(path)).enumerated()


class Enumerated:
    """What was enumerated, as something to audit."""

    collection = None

    def __init__(self, found: Exact) -> None:
        self.found = found

    def enumerated(self) -> Exact:
        return self.found


@pytest.fixture
def item_collection(tmp_path: Path) -> Path:
    """Write the file of a collection of item sets."""
    path = tmp_path / "films.yaml"
    path.write_text(
        """
        collection: films
        mechanism: {kind: gfim, epsilon: 2, k: 3, set_size: 2, hash_bits: 1}
        items: {size: 64}
        window: {size: 60s, idle_timeout: 10s, grace: 5s}
        """
    )
    return path
