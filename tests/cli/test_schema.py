"""`stream-ldp schema`: contracts by name."""

import json

from typer.testing import CliRunner

from stream_ldp.cli import app
from stream_ldp.schemas import contracts


def test_the_command_prints_each_contract_and_all_their_names() -> None:
    names = CliRunner().invoke(app, ["schema"]).stdout.split()
    assert names == contracts()
    for name in names:
        assert json.loads(CliRunner().invoke(app, ["schema", name]).stdout)


def test_an_unknown_name_is_refused_with_the_one_that_was_meant() -> None:
    done = CliRunner().invoke(app, ["schema", "colection-v1"])
    assert (done.exit_code, "did you mean 'collection-v1'?" in done.stderr) == (2, True)
