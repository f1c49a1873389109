"""Tests of docker/: what can be known of an image and of a composition without an engine to build them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stream_ldp.kafka.settings import ENVIRONMENT_PREFIX, Settings
from tests.paths import REPOSITORY

DOCKER = REPOSITORY / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def test_the_dockerfile_has_no_known_mistake() -> None:
    hadolint = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    assert hadolint is not None
    done = subprocess.run([hadolint, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_has_the_oldest_python_that_the_package_takes() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {f">={version}" for version in re.findall(r"^FROM python:([\d.]+)-", DOCKERFILE, re.MULTILINE)} == {
        project["requires-python"]
    }


def test_every_requirement_of_the_image_is_pinned_within_its_range_and_by_its_hashes() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = (DOCKER / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    pinned = {}
    for entry in entries:
        name, version = re.fullmatch(
            r"([\w.-]+)==([\w.]+)(?: ; [^-]*)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry
        ).group(1, 2)  # type: ignore[union-attr]
        pinned[canonicalize_name(name)] = version
    for wanted in map(Requirement, project["dependencies"] + project["optional-dependencies"]["worker"]):
        assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), wanted


def test_the_image_copies_nothing_that_is_ignored_or_absent() -> None:
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    copied = [
        word for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()
    ]
    assert copied
    for name in copied:
        assert (REPOSITORY / name).exists()
        assert f"!{name}" in ignored


@pytest.mark.parametrize("name", SERVICES)
def test_every_file_that_a_service_mounts_is_in_the_repository(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source = volume.partition(":")[0]
        assert source in COMPOSE["volumes"] or (DOCKER / source).exists(), source


@pytest.mark.parametrize("name", SERVICES)
def test_every_setting_of_a_service_is_known(name: str) -> None:
    known = {f"{ENVIRONMENT_PREFIX}{field.upper()}" for field in Settings.model_fields}
    environment = SERVICES[name].get("environment", {})
    assert {variable for variable in environment if variable.startswith(ENVIRONMENT_PREFIX)} <= known


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_for_services_that_exist(name: str) -> None:
    assert set(SERVICES[name].get("depends_on", {})) <= set(SERVICES)


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service["image"] == "stream-ldp"])
def test_our_containers_can_do_no_more_than_they_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    for word in service["command"]:
        if word.startswith("/etc/stream-ldp/"):
            assert any(volume.split(":")[1] == word for volume in service["volumes"]), word


def test_ports_are_open_to_this_machine_alone() -> None:
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_grafana_shows_the_dashboards_of_the_cluster() -> None:
    mounted = [volume.partition(":")[0] for volume in SERVICES["grafana"]["volumes"]]
    dashboards = Path("deploy/components/monitoring/dashboards")
    assert str(Path("..") / dashboards) in mounted
    assert list((REPOSITORY / dashboards).glob("*.json"))
