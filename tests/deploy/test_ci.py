"""Tests of the workflows: what can be known of them without running them elsewhere."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.schemas import problems
from tests.paths import REPOSITORY

WORKFLOWS = REPOSITORY / ".github" / "workflows"
# Without the rule of YAML 1.1, by which the key `on` would be the truth value.
CI, RELEASE = (
    yaml.load((WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    for name in ("ci", "release")
)
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def steps(workflow: dict[str, Any]) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def targets(workflow: dict[str, Any]) -> set[str]:
    """The targets of make that its steps name."""
    commands = [found for step in steps(workflow) for found in re.findall(r"\bmake ([\w -]+)", step)]
    return {word for command in commands for word in command.removesuffix(" PYTHON").split()}


@pytest.mark.parametrize("name", ["ci", "release"])
def test_the_workflow_is_valid(name: str) -> None:
    assert problems(WORKFLOWS / f"{name}.yaml", schema="github-workflows") == ""


def test_every_workflow_is_tested() -> None:
    assert {path.name for path in WORKFLOWS.iterdir()} == {"ci.yaml", "release.yaml"}


def test_the_oldest_and_the_newest_python_are_tested() -> None:
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    versions = [found[1] for found in named if found]
    assert CI["jobs"]["test"]["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_what_is_run_is_what_a_contributor_runs() -> None:
    assert targets(CI) == {"check", "test", "test-all", "audit"}
    assert targets(RELEASE) == {"audit", "dist"}
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets(CI) | targets(RELEASE))


def test_what_verifies_a_release_is_documented() -> None:
    text = (REPOSITORY / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    for command in ("make audit", "make lock", "make sbom", "make dist", "python docker/pin.py"):
        assert command in text


def test_the_workflow_may_write_nothing() -> None:
    assert CI["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in CI["jobs"].values())


def test_each_job_of_a_release_may_write_what_it_makes_and_nothing_else() -> None:
    assert RELEASE["permissions"] == {"contents": "read"}
    written = {
        name: {right for right, may in job.get("permissions", {}).items() if may == "write"}
        for name, job in RELEASE["jobs"].items()
    }
    assert written == {
        "pinned": set(),
        "package": set(),
        "publish": {"contents", "id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
    }


def test_a_release_is_built_of_nothing_that_may_have_moved() -> None:
    jobs = RELEASE["jobs"]
    assert [step["run"] for step in jobs["pinned"]["steps"] if "run" in step] == ["python3 docker/pin.py --check"]
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {"pinned": None, "package": "pinned", "publish": "package", "image": "pinned"}


def test_what_signs_the_package_installs_and_runs_no_tool() -> None:
    """A tool of one machine could sign something else as the repository, or write to it."""
    steps = RELEASE["jobs"]["publish"]["steps"]
    assert [step.get("uses", step.get("run", "")).partition("@")[0].partition(" --")[0] for step in steps] == [
        "actions/download-artifact",
        "actions/attest-build-provenance",
        'gh release create "$GITHUB_REF_NAME"',
    ]


def test_what_runs_tools_of_a_release_takes_them_from_a_lock_and_keeps_no_token() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    needed = {
        name: each.split() for name, each in re.findall(r"^([\w./-]+):(.*?)(?:  ##.*)?$", makefile, re.MULTILINE)
    }
    seen, left = set(), {"audit", "dist"}
    while left:
        seen |= left
        left = {each for name in left for each in needed.get(name, [])} - seen
    assert "build/release/.installed" in seen
    assert not any(".venv" in each or "$(VENV)" in each for each in seen), "these are installed by ranges"
    checkout = RELEASE["jobs"]["package"]["steps"][0]
    assert checkout["with"] == {"persist-credentials": "false"}


def test_a_release_has_a_bill_of_materials_and_says_how_it_was_built() -> None:
    publish, image = (
        " ".join(step.get("run", step.get("uses", "")) for step in RELEASE["jobs"][name]["steps"])
        for name in ("publish", "image")
    )
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^dist: .*\bsbom\b", makefile, re.MULTILINE), "what is attached has no bill of materials"
    assert all("actions/attest-build-provenance@" in steps for steps in (publish, image))
    assert "build/dist/*" in publish
    assert "--provenance=mode=max" in image
    assert "type=sbom" in image


def test_dependabot_is_configured_validly() -> None:
    assert problems(REPOSITORY / ".github" / "dependabot.yml", schema="dependabot") == ""


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A repository that is ready to release 1.2.3."""
    for name, text in {
        "pyproject.toml": 'version = "1.2.3"\nRepository = "https://host.example/stream-ldp"\n',
        "CITATION.cff": "version: 1.2.3\n",
        "CHANGELOG.md": "## [1.2.3] - 2026-11-27\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".ci").mkdir()
    shutil.copy(REPOSITORY / ".ci" / "release", tmp_path / ".ci")
    for command in ("init -q -b main", "add -A", "-c user.name=a -c user.email=a@b commit -qm ready"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    return tmp_path


def test_a_release_is_dry_by_default_and_says_what_is_missing(released: Path) -> None:
    def release(version: str) -> tuple[int, str]:
        done = subprocess.run([".ci/release", version], cwd=released, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert release("1.2.3") == (
        0,
        "ready. With DO=yes: make check test check-dist, git tag v1.2.3, git push origin v1.2.3\n",
    )
    subprocess.run(["git", "tag", "v1.2.3"], cwd=released, check=True)
    (released / "CHANGELOG.md").write_text("## [Unreleased]\n", encoding="utf-8")
    code, said = release("1.2.3")
    assert code == 1
    for missing in ("CHANGELOG.md has no section", "changes that are not committed", "the tag v1.2.3 exists"):
        assert missing in said
    assert "pyproject.toml has another version" in release("2.0.0")[1]
    (released / "pyproject.toml").write_text('version = "1.2.3"\n', encoding="utf-8")
    assert '-> add to it: [project.urls] with Repository = "https://HOST/OWNER/stream-ldp"' in release("1.2.3")[1]
