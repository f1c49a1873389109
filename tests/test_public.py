"""The public surface: `from stream_ldp import ...` has what an application needs, and costs what it takes."""

import importlib
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import stream_ldp
from stream_ldp.deferred import Deferred
from stream_ldp.kinds import KINDS
from tests.schemas import recorded

#: How the names of modules begin that are a kind's own.
ROOMS_OF_KINDS = tuple(
    f"{kind.place.rpartition('.')[0]}." for kind in KINDS.data.values() if isinstance(kind, Deferred)
)
STUB = Path(stream_ldp.__file__).with_suffix(".pyi")
#: The module of each public name.
PLACES = {
    name: module for module, name in re.findall(r"^from (\S+) import (\w+)", STUB.read_text("utf-8"), re.MULTILINE)
}


def loaded(code: str, *arguments: object) -> set[str]:
    """The modules that a fresh interpreter has after this code, whatever it ended with."""
    *_, modules = loaded_by(code, *arguments)
    return modules


def loaded_by(code: str, *arguments: object) -> list[set[str]]:
    """The same, after those that the code itself has printed in the same way."""
    program = f"try:\n    {code}\nexcept SystemExit:\n    pass\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True, timeout=60
    )
    return [set(line.split()) for line in done.stderr.splitlines()]


def command_line(*arguments: object) -> set[str]:
    return loaded("from stream_ldp.cli import main; main()", *arguments)


def heavy(modules: set[str]) -> set[str]:
    """Return what of these most applications and commands do not use, by the package that it belongs to."""
    costly = [
        "faust",
        "mode",
        "prometheus_client",
        "scipy.optimize",
        "scipy.stats",
        "sklearn",
        "stream_ldp.cli.demo",
        "stream_ldp.audit",
        "stream_ldp.service",
    ]
    return {each for each in costly if each in modules or any(name.startswith(f"{each}.") for name in modules)}


def test_the_help_of_the_package_names_what_there_is() -> None:
    named = set(re.findall(r"`(\w+)`", stream_ldp.__doc__ or ""))
    assert named <= set(stream_ldp.__all__)
    clients = {name for name in stream_ldp.__all__ if name.endswith(("Collection", "Reporter", "Subscriber"))}
    assert clients - named == {"WrongCollection"}


@pytest.mark.parametrize("name", stream_ldp.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(stream_ldp, name) is not None
    assert name in dir(stream_ldp)


def test_the_collection_and_the_answer_of_every_kind_are_public() -> None:
    of_kinds = {each for kind in KINDS.values() for each in (kind.collection, kind.answer)}
    assert of_kinds <= {getattr(stream_ldp, name) for name in stream_ldp.__all__}


def test_a_public_name_is_the_one_of_its_module() -> None:
    for name, place in PLACES.items():
        assert getattr(stream_ldp, name) is getattr(importlib.import_module(place), name)


def test_the_version_is_that_of_the_release() -> None:
    assert stream_ldp.__version__ == metadata.version("stream-ldp")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Reportr'"):
        _ = stream_ldp.Reportr  # type: ignore[attr-defined]


def test_the_package_alone_loads_neither_numpy_nor_kafka() -> None:
    modules = loaded("import stream_ldp")
    assert "stream_ldp" in modules
    assert not modules & {"numpy", "scipy", "aiokafka", "pydantic", "asyncio"}


def test_a_name_loads_no_more_than_it_needs() -> None:
    modules = loaded("from stream_ldp import Terms, StreamLDPError, JointCollection")
    assert "stream_ldp.records.collection" in modules
    assert not modules & {"aiokafka", "scipy"}


#: Modules of the package that the name of the reporter loads. Lower it with each that goes.
MOST_MODULES = 64


def test_a_client_loads_a_kind_with_its_first_collection_and_no_solver_auditor_or_service() -> None:
    more = "from stream_ldp import Reporter; import sys; print(*sys.modules, file=sys.stderr)"
    modules, whole = loaded_by(f"{more}; from stream_ldp import Subscriber, load_collection")
    assert "stream_ldp.client.reporter" in whole
    assert heavy(whole) == set()
    assert "scipy" not in whole
    assert "stream_ldp.kinds" in modules
    assert not [name for name in modules if name.startswith(ROOMS_OF_KINDS)]
    # Settings, locks of files and rounds are loaded where they are first needed.
    assert not modules & {"filelock", "pydantic_settings", "sqlite3", "stream_ldp.client.respondent"}
    own = {name for name in modules if name.startswith("stream_ldp")}
    assert len(own) <= MOST_MODULES, sorted(own)


#: For each collection file, a process that has imported what an application does prints what else it loads to report.
REPORTING = """\
import os, sys
from stream_ldp import Reporter, load_collection
from stream_ldp.kinds import kind_of
for file in sys.argv[1:]:
    if not os.fork():
        kind = kind_of(collection := load_collection(file))
        kind.charges, kind.reports, kind.layout(collection)
        print(*sys.modules, flush=True)
        break
    os.wait()
"""


# Of the quick suite, a kind whose users answer questions, and those two whose clients are others.
@pytest.mark.parametrize(
    "kinds", [["records", "sets", "sampled"], pytest.param([*KINDS], marks=pytest.mark.long)], ids=["some", "all"]
)
def test_to_report_loads_what_perturbs_and_neither_solver_nor_plan(kinds: list[str], tmp_path: Path) -> None:
    files = [tmp_path / f"{kind}.yaml" for kind in kinds]
    for file in files:
        file.write_text(recorded.COLLECTIONS[file.stem])
    done = subprocess.run([sys.executable, "-c", REPORTING, *files], capture_output=True, text=True, check=True)
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert len(found) == len(files), done.stderr
    for modules in found:
        assert heavy(modules) == set()
        assert "scipy" not in modules
        parts = ("solve", "solve_time", "plan", "evaluation", "temporal", "truth", "estimators")
        assert not [name for name in modules if name.startswith(ROOMS_OF_KINDS) and name.rpartition(".")[2] in parts]


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_the_command_line_itself_loads_no_command(flag: str) -> None:
    modules = command_line(flag)
    assert "stream_ldp.cli.commands" in modules
    assert heavy(modules) == set()
    assert not modules & {"numpy", "scipy", "aiokafka", "pydantic", "stream_ldp.cli.check"}


def test_check_loads_what_reads_a_file_and_no_more(tmp_path: Path) -> None:
    (file := tmp_path / "films.yaml").write_text(
        "collection: films\nmechanism: {kind: svim, epsilon: 3, k: 3, set_size: 4}\nitems: {size: 100}\n"
        "window: {size: 60s}\n"
    )
    modules = command_line("check", file)
    assert "stream_ldp.sets.collection" in modules
    assert heavy(modules) == set()
    assert not modules & {"aiokafka", "scipy", "stream_ldp.cli.plan", "stream_ldp.client"}


def test_commands_of_clients_load_no_solver_auditor_or_service() -> None:
    commands = ["plan", "report", "simulate", "watch"]
    run = "import sys; from typer.testing import CliRunner; from stream_ldp.cli import app; "
    run += "[CliRunner().invoke(app, [each, '--help']) for each in sys.argv[1:]]"
    modules = loaded(run, *commands)
    assert {f"stream_ldp.cli.{each}" for each in commands} <= modules
    assert heavy(modules) == set()
