"""Tests of docker/: what can be known of an image and of a composition without an engine to build them."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX
from tests.deploy.schemas import problems
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
    assert {
        f">={version}" for version in re.findall(r"^ARG PYTHON_IMAGE=python:([\d.]+)-", DOCKERFILE, re.MULTILINE)
    } == {project["requires-python"]}


def test_both_stages_are_of_the_same_python() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_image_is_installed_by_the_steps_of_its_file(tmp_path: Path) -> None:
    """Replay them in a clean directory, with what the ignore file lets in; needs the package index."""
    context, target = tmp_path / "context", tmp_path / "stream-ldp"
    for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE):
        *sources, to = line.split()
        for source in sources:
            place = context / (to + Path(source).name if to.endswith("/") else to)
            place.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (REPOSITORY / source).is_dir() else shutil.copy
            copy(REPOSITORY / source, place)
    build, _ = DOCKERFILE.split("FROM ${PYTHON_IMAGE}\n")
    for step in re.findall(r"^RUN (.*)$", build.replace("\\\n", ""), re.MULTILINE):
        command = step.replace("/opt/", f"{tmp_path}/").replace("python -m venv", f"{sys.executable} -m venv")
        subprocess.run(command, shell=True, check=True, cwd=context)
    program = target / "bin" / "stream-ldp"
    shown = subprocess.run([program, "--version"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert shown.startswith("stream-ldp ")
    collections = [REPOSITORY / f"deploy/base/collections/{name}.yaml" for name in ("survey", "films")]
    subprocess.run([program, "check", *collections], check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "build" / "bin" / "pip", "--python", target, "check"], check=True, cwd=tmp_path)
    installed = {path.name.partition("-")[0] for path in target.glob("lib/*/site-packages/*.dist-info")}
    assert not {"pip", "setuptools", "wheel", "Cython"} & installed


@contextmanager
def answering(status: int) -> Iterator[int]:
    """Serve nothing but a status, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path in {"/livez", "/"} else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def health_checks() -> dict[str, tuple[int, list[str]]]:
    """The port that each health check asks, and its command: that of the image is the workers'."""
    (of_image,) = re.findall(r"^HEALTHCHECK .*\\\n  CMD (.*)$", DOCKERFILE, re.MULTILINE)
    found = {"worker": (9464, json.loads(of_image))}
    for name in ("gateway", "page"):
        _, *command = SERVICES[name]["healthcheck"]["test"]
        found[name] = (int(SERVICES[name]["ports"][0].rpartition(":")[2]), command)
    return found


@pytest.mark.parametrize("name", ["worker", "gateway", "page"])
@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_a_health_check_tells_health_from_a_failure(name: str, status: int, healthy: bool) -> None:
    asked, command = health_checks()[name]
    assert any(str(asked) in word for word in command)
    with answering(status) as port:
        here = [word.replace(str(asked), str(port)) for word in [sys.executable, *command[1:]]]
        assert (subprocess.run(here, capture_output=True, check=False).returncode == 0) == healthy


def test_the_image_asks_for_health_where_the_worker_serves_it() -> None:
    port, command = health_checks()["worker"]
    assert port == Settings.model_fields["admin_port"].default
    assert f"{ENVIRONMENT_PREFIX}ADMIN_PORT" in command[-1]
    assert "healthcheck" not in SERVICES["worker"], "the image has it"


def test_the_composition_is_valid_and_has_no_misspelt_key(tmp_path: Path) -> None:
    assert problems(DOCKER / "compose.yaml", schema="compose-spec") == ""
    misspelt = tmp_path / "compose.yaml"
    misspelt.write_text((DOCKER / "compose.yaml").read_text(encoding="utf-8").replace("depends_on:", "depend_on:"))
    assert "depend_on" in problems(misspelt, schema="compose-spec")


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
