"""Every reporter runs with what a bare install brings, and on machines that lack what Unix has."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import REPOSITORY

PROGRAM = Path(__file__).with_name("small_machine.py")


def needed() -> set[str]:
    """The distributions that `pip install stream-ldp` brings, by what each of them says that it needs."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"stream-ldp"}
    ahead = list(map(Requirement, project["dependencies"]))
    while ahead:
        each = ahead.pop()
        if (name := canonicalize_name(each.name)) in found:
            continue
        found.add(name)
        ahead += [
            more
            for more in map(Requirement, metadata.requires(name) or ())
            if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in each.extras or {""})
        ]
    return found


def others() -> set[str]:
    """The top-level modules of every other distribution on this machine."""
    brought = needed()
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if re.fullmatch(r"\w+", module) and not brought & {canonicalize_name(owner) for owner in owners}
    }


def run(directory: Path, missing: set[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(directory), *sorted(missing)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_bare_install_is_small_and_reports_to_every_kind_of_collection(tmp_path: Path) -> None:
    missing = others()
    assert {"scipy", "sklearn", "faust", "mode", "prometheus_client", "aiohttp", "typer", "rich"} <= missing
    done = run(tmp_path, missing)
    assert done.stdout == "reported\n", done.stderr


def test_a_machine_without_the_locks_of_unix_reports_and_keeps_its_ledger(tmp_path: Path) -> None:
    done = run(tmp_path, {"fcntl", "pwd", "grp", "resource", "termios"})
    assert done.stdout == "reported\n", done.stderr


def test_what_a_client_does_need_is_missed(tmp_path: Path) -> None:
    assert "No module named 'filelock'" in run(tmp_path, {"filelock"}).stderr
