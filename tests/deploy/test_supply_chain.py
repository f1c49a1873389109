"""What this is built of, and by: all of it is named by its digest, by a lock or within a range."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {name: REPOSITORY / "docker" / f"{name}.lock" for name in ("build", "release", "requirements")}
COMMIT, DIGEST = "0123456789abcdef0123456789abcdef01234567", "sha256:" + "ab" * 32


def locked(name: str) -> dict[str, str]:
    """The versions of a lock, each of which has hashes."""
    entries = LOCKS[name].read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found: dict[str, str] = {}
    for entry in entries:
        hashed = re.fullmatch(r"([\w.-]+)==([\w.]+)(?: ; [^-]*)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry)
        assert hashed is not None, f"{entry!r} has no hash"
        found[canonicalize_name(hashed[1])] = hashed[2]
    return found


def tools(name: str) -> list[Requirement]:
    """What a lock of tools is made of."""
    lines = LOCKS[name].with_suffix(".in").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def is_bounded(requirement: Requirement) -> bool:
    return any(each.operator in ("<", "<=", "==", "~=") for each in requirement.specifier)


def installs(text: str) -> list[str]:
    """Every command of a file that has pip fetch something."""
    joined = text.replace("\\\n", " ")
    return re.findall(r"pip(?:3| --python \S+)? (?:install|wheel|download) [^\n&|;]*", joined)


def is_pinned(command: str) -> bool:
    """Whether it fetches by a lock, from the directory at hand, or what pyproject.toml bounds."""
    if "--require-hashes" in command and "-r docker/" in command:
        return True
    if re.search(r"--editable '\.\[[\w,]+\]'", command):
        return True
    *_, last = command.replace("'", "").split()
    if "--upgrade" in command:
        return is_bounded(Requirement(last))
    offline = "--no-index" in command or (last == "." and "--no-build-isolation" in command)
    return "--no-deps" in command and offline


def test_every_dependency_has_an_upper_bound() -> None:
    project = PROJECT["project"]
    extras = [each for some in project["optional-dependencies"].values() for each in some]
    given = [Requirement(each) for each in (*project["dependencies"], *extras, *PROJECT["build-system"]["requires"])]
    given += tools("build") + tools("release")
    assert [str(each) for each in given if not is_bounded(each) and each.name != project["name"]] == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_has_hashes_and_no_host(name: str) -> None:
    assert locked(name)
    assert "://" not in LOCKS[name].read_text(encoding="utf-8")


def test_every_requirement_of_the_image_is_locked_within_its_range() -> None:
    project, versions = PROJECT["project"], locked("requirements")
    for wanted in map(Requirement, project["dependencies"] + project["optional-dependencies"]["worker"]):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


def test_what_builds_the_package_is_locked_within_its_range() -> None:
    versions = locked("build")
    for wanted in (*tools("build"), *map(Requirement, PROJECT["build-system"]["requires"])):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


def test_release_tools_are_locked_within_the_tested_range() -> None:
    versions, dev = locked("release"), PROJECT["project"]["optional-dependencies"]["dev"]
    (tested,) = (each for each in map(Requirement, dev) if each.name == "cyclonedx-bom")
    for wanted in (*tools("release"), tested):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


@pytest.mark.parametrize(
    "file", ["docker/Dockerfile", "Makefile", ".github/workflows/ci.yaml", ".github/workflows/release.yaml"]
)
def test_nothing_is_fetched_by_its_name_alone(file: str) -> None:
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    assert [command for command in installs(text) if not is_pinned(command)] == []
    assert not re.search(r"\b(?:npm|pipx|uvx|gem|cargo|go) install\b|\bcurl\b|\bwget\b", text)


@pytest.mark.parametrize(
    "command",
    [
        "pip install pip-audit",
        "pip install --no-deps .",
        "/opt/build/bin/pip install -r docker/requirements.lock",
        "/opt/build/bin/pip wheel --no-deps --wheel-dir /opt/wheels .",
        "pip --python /opt/x install --no-deps /opt/wheels/*.whl",
        "pip install --upgrade pip",
    ],
)
def test_a_tool_that_is_not_pinned_is_found(command: str) -> None:
    (found,) = installs(f"RUN {command} \\\n && true\n")
    assert not is_pinned(found.strip())


def test_what_the_image_is_made_of_is_built_by_locked_tools_alone() -> None:
    """A build in isolation fetches the newest backend, whatever the lock of the dependencies says."""
    text = (REPOSITORY / "docker" / "Dockerfile").read_text(encoding="utf-8")
    commands = installs(text)
    first, *others = commands
    assert "-r docker/build.lock" in first
    assert all("--no-build-isolation" in each or "--no-index" in each for each in others)
    assert any("-r docker/requirements.lock" in each for each in others)


@pytest.mark.long
def test_the_bill_of_materials_has_every_package_of_the_image(tmp_path: Path) -> None:
    (command,) = re.findall(
        r"^\tbuild/release/bin/(cyclonedx-py .*)$",
        (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("\\\n\t", ""),
        re.MULTILINE,
    )
    file = tmp_path / "stream-ldp.cdx.json"
    program, *arguments = command.replace("build/dist/stream-ldp.cdx.json", str(file)).split()
    here = Path(sys.executable).parent / program
    subprocess.run([here, *arguments], check=True, capture_output=True, cwd=REPOSITORY)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["bomFormat"] == "CycloneDX"
    assert content["metadata"]["component"]["name"] == PROJECT["project"]["name"]
    found = {canonicalize_name(each["name"]): each["version"] for each in content["components"]}
    assert found == locked("requirements")
    assert all(each["externalReferences"][0]["hashes"] for each in content["components"])


# The command that pins images and actions.


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what is pinned, and in it a docker and a git that answer every question."""
    for name in ("docker", ".github"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    programs = tmp_path / "bin"
    programs.mkdir()
    answers = {
        "docker": f'echo "$@" >>"{tmp_path}/asked"; echo {DIGEST}',
        "git": f'echo "$@" >>"{tmp_path}/asked"; printf "%040d\\trefs/tags/x\\n{COMMIT}\\trefs/tags/x^{{}}\\n" 0',
    }
    for name, answer in answers.items():
        (programs / name).write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return tmp_path


def pin(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, checkout / "docker" / "pin.py", *arguments],
        env={"PATH": f"{checkout / 'bin'}{os.pathsep}/bin{os.pathsep}/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def files(checkout: Path) -> dict[str, str]:
    return {
        str(path.relative_to(checkout)): path.read_text(encoding="utf-8")
        for path in (checkout / "docker" / "Dockerfile", checkout / "docker" / "compose.yaml")
    } | {path.name: path.read_text(encoding="utf-8") for path in (checkout / ".github" / "workflows").iterdir()}


def test_images_are_pinned_by_digest_and_actions_by_commit(checkout: Path) -> None:
    before = files(checkout)
    assert pin(checkout).returncode == 0
    after = files(checkout)
    assert f"\nARG PYTHON_IMAGE=python:3.11-slim-bookworm@{DIGEST}\n" in after["docker/Dockerfile"]
    assert f"image: apache/kafka:4.3.1@{DIGEST}\n" in after["docker/compose.yaml"]
    assert "image: stream-ldp\n" in after["docker/compose.yaml"]
    assert f"- uses: actions/checkout@{COMMIT} # v5\n" in after["ci.yaml"]
    assert f"BUILDER_IMAGE: moby/buildkit:buildx-stable-1@{DIGEST}\n" in after["release.yaml"]
    assert pin(checkout, "--check").returncode == 0
    # Every action and every image has a pin, and nothing else has changed.
    for name, text in after.items():
        assert len(re.findall(r"uses: ", text)) == len(re.findall(rf"uses: \S+@{COMMIT} # \S+$", text, re.MULTILINE))
        assert text.replace(f"@{DIGEST}", "") == re.sub(
            r"(uses: \S+)@(\S+)$", rf"\1@{COMMIT} # \2", before[name], flags=re.MULTILINE
        )


def test_pins_are_renewed_by_the_tags_beside_them(checkout: Path) -> None:
    pin(checkout)
    once = files(checkout)
    (checkout / "asked").unlink()
    assert pin(checkout).returncode == 0
    assert files(checkout) == once
    asked = (checkout / "asked").read_text(encoding="utf-8")
    assert "inspect python:3.11-slim-bookworm --format" in asked
    assert "https://github.com/actions/checkout refs/tags/v5 refs/tags/v5^{}" in asked


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("docker/Dockerfile", f"@{DIGEST}", ""),
        ("docker/compose.yaml", f"prometheus:v3.5.0@{DIGEST}", "prometheus:v3.5.0"),
        (".github/workflows/ci.yaml", f"setup-java@{COMMIT} # v5", "setup-java@v5"),
        (".github/workflows/release.yaml", f"buildx-stable-1@{DIGEST}", "buildx-stable-1"),
    ],
)
def test_a_release_ends_at_what_is_not_pinned_and_names_it(checkout: Path, file: str, old: str, new: str) -> None:
    pin(checkout)
    text = (checkout / file).read_text(encoding="utf-8")
    assert old in text
    (checkout / file).write_text(text.replace(old, new), encoding="utf-8")
    done = pin(checkout, "--check")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{file}: ")
    assert "not pinned: run python docker/pin.py" in done.stderr


@pytest.mark.parametrize("answer", ["echo nothing", "echo no such image >&2; exit 1"])
def test_nothing_is_written_where_one_pin_is_not_found(checkout: Path, answer: str) -> None:
    (checkout / "bin" / "git").write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    before = files(checkout)
    done = pin(checkout)
    assert done.returncode == 1
    assert "checkout" in done.stderr
    assert files(checkout) == before
