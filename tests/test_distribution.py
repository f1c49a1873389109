"""Wheel and archive as users get them: checked, small, and installed by pip, uv and pipx on every Python here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import REPOSITORY

#: What clients download beside NumPy, at most, in bytes on the disk.
CLIENT_BYTES = 60_000_000
PYTHONS = ("3.11", "3.12", "3.13")
#: What asks the installed package for an answer: a report of the bare client, which needs no other part.
SCRIPT = "import stream_ldp; stream_ldp.Reporter; print(stream_ldp.load_collection)"

pytestmark = [pytest.mark.long, pytest.mark.timeout(1_800)]


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python_of(version: str) -> str | None:
    """Find an interpreter of a version that runs."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = shutil.which(f"python{version}") if not kept else str(kept[-1])
    if found is None:
        return None
    asked = subprocess.run(
        [found, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or None


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with build, twine, check-wheel-contents, uv and pipx."""
    home = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", home)
    run(home / "bin/pip", "install", "--quiet", "build", "twine>=6,<8", "check-wheel-contents>=0.6,<1", "uv", "pipx")
    return home / "bin"


@pytest.fixture(scope="module")
def built(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the archive, and the wheel that is made of the archive, of what is committed."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    archive = folder / "source.tar"
    run("git", "-C", REPOSITORY, "archive", "--output", archive, "HEAD")
    run("tar", "-xf", archive, "-C", source)
    archive.unlink()
    run(tools / "python", "-m", "build", "--outdir", folder, source)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_an_index_takes_wheel_and_archive_and_the_wheel_has_the_package_alone(tools: Path, built: Path) -> None:
    run(tools / "twine", "check", "--strict", *built.iterdir())
    run(tools / "check-wheel-contents", *built.glob("*.whl"))


@pytest.mark.parametrize("version", PYTHONS)
def test_the_client_is_installed_by_pip_and_is_small(version: str, wheel: Path, tmp_path: Path) -> None:
    python = python_of(version) or pytest.skip(f"no Python {version} here")
    run(python, "-m", "venv", tmp_path / "venv")
    packages = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    before = {each.name for each in packages.iterdir()}
    run(tmp_path / "venv/bin/pip", "install", "--quiet", "--no-compile", wheel)
    run(tmp_path / "venv/bin/python", "-c", SCRIPT, cwd=tmp_path)
    new = [each for each in packages.iterdir() if each.name not in before and not each.name.startswith("numpy")]
    size = sum(file.stat().st_size for each in new for file in (each, *each.rglob("*")) if file.is_file())
    print(f"Python {version}: {size / 1e6:.1f} MB beside NumPy")  # noqa: T201  for those who measure it
    assert size <= CLIENT_BYTES


@pytest.mark.parametrize("version", PYTHONS)
def test_the_command_is_installed_by_uv(version: str, wheel: Path, tools: Path, tmp_path: Path) -> None:
    python = python_of(version) or pytest.skip(f"no Python {version} here")
    run(tools / "uv", "venv", "--quiet", "--python", python, tmp_path / "venv")
    run(tools / "uv", "pip", "install", "--quiet", "--python", tmp_path / "venv/bin/python", f"{wheel}[worker]")
    assert run(tmp_path / "venv/bin/stream-ldp", "--version", cwd=tmp_path).strip()


def test_the_command_is_installed_by_pipx(
    wheel: Path, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPX_HOME", str(tmp_path / "pipx"))
    monkeypatch.setenv("PIPX_BIN_DIR", str(tmp_path / "bin"))
    run(tools / "pipx", "install", "--quiet", "--python", sys.executable, f"{wheel}[worker]")
    assert run(tmp_path / "bin/stream-ldp", "--version", cwd=tmp_path).strip()
