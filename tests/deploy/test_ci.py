"""Tests of the workflow of continuous integration: what can be known of it without running it elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any

import yaml

from tests.paths import REPOSITORY

WORKFLOW = REPOSITORY / ".github" / "workflows" / "ci.yaml"
# Without the rule of YAML 1.1, by which the key `on` would be the truth value.
DOCUMENT: dict[str, Any] = yaml.load(WORKFLOW.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def steps() -> list[str]:
    return [step["run"] for job in DOCUMENT["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_workflow_is_valid() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_oldest_and_the_newest_python_are_tested() -> None:
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    versions = [found[1] for found in named if found]
    assert DOCUMENT["jobs"]["test"]["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_what_is_run_is_what_a_contributor_runs() -> None:
    targets = {found for step in steps() for found in re.findall(r"\bmake ([\w-]+)", step)}
    assert targets == {"check", "test", "test-all"}
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_the_audit_is_the_documented_one() -> None:
    (audit,) = [step for step in steps() if step.startswith("pip-audit")]
    assert audit in (REPOSITORY / "docs" / "SECURITY.md").read_text(encoding="utf-8")


def test_the_workflow_may_write_nothing() -> None:
    assert DOCUMENT["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in DOCUMENT["jobs"].values())
