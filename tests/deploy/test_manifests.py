"""Tests of the manifests of Kubernetes: what kubectl renders of each overlay."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml

from stream_ldp.cli import app
from stream_ldp.cli.commands import Commands
from stream_ldp.kafka.settings import ENVIRONMENT_PREFIX, Settings
from stream_ldp.kinds import parse_collection
from stream_ldp.service.worker import STOP_SECONDS
from tests.paths import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
OVERLAYS = sorted(path.name for path in (DEPLOY / "overlays").iterdir())

#: The oldest release of Kubernetes that is supported by its makers.
KUBERNETES = "1.33"

#: Custom resources, of which Kubernetes itself has no schema.
CUSTOM = {"PodMonitor", "PrometheusRule", "ScaledObject"}

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl renders the overlays")


def rendered(folder: str) -> list[dict[str, Any]]:
    """Every object that an overlay makes."""
    done = subprocess.run(["kubectl", "kustomize", DEPLOY / folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return rendered(f"overlays/{request.param}")


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def pods(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The specification of the pods of every workload."""
    for each in (*of_kind(objects, "Deployment"), *of_kind(objects, "Job")):
        yield each["spec"]["template"]["spec"]


def the_worker(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = of_kind(objects, "Deployment")
    return deployment


def test_every_object_is_valid_for_kubernetes_and_has_no_misspelt_field(objects: list[dict[str, Any]]) -> None:
    for each in objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, KUBERNETES, strict=True)


def test_a_misspelt_field_would_be_found(objects: list[dict[str, Any]]) -> None:
    worker = the_worker(objects)
    worker = {**worker, "spec": {**worker["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(worker, KUBERNETES, strict=True)


def test_no_container_is_root_or_can_become_it_or_write_to_its_image(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert "cpu" not in container["resources"]["limits"], "a throttled worker misses heartbeats"


def test_the_volumes_that_a_container_mounts_exist(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_a_worker_is_given_the_time_to_flush(objects: list[dict[str, Any]]) -> None:
    assert the_worker(objects)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 2 * STOP_SECONDS


def test_probes_ask_the_pages_that_the_worker_serves(objects: list[dict[str, Any]]) -> None:
    (container,) = the_worker(objects)["spec"]["template"]["spec"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
        "admin": Settings.model_fields["admin_port"].default
    }
    asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked == {
        "startupProbe": {"path": "/livez", "port": "admin"},
        "livenessProbe": {"path": "/livez", "port": "admin"},
        "readinessProbe": {"path": "/readyz", "port": "admin"},
    }


def test_the_settings_are_read_by_the_program(
    objects: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (settings,) = [each for each in of_kind(objects, "ConfigMap") if "settings" in each["metadata"]["name"]]
    for name, value in settings["data"].items():
        assert name.startswith(ENVIRONMENT_PREFIX)
        # Files are mounted into the pod, and are not here.
        there = tmp_path / "file"
        there.write_text("hunter2", encoding="utf-8")
        monkeypatch.setenv(name, str(there) if name.endswith("_FILE") else value)
    loaded = Settings.load()
    assert loaded.admin_host == "0.0.0.0"
    assert [address.rpartition(":")[2] for address in loaded.broker_addresses] == [
        str(port["port"]) for port in _broker_ports(objects) for _ in loaded.broker_addresses
    ]


def _broker_ports(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (policy,) = of_kind(objects, "NetworkPolicy")
    return list(policy["spec"]["egress"][1]["ports"])


def test_the_commands_exist_and_name_collections_that_are_mounted(objects: list[dict[str, Any]]) -> None:
    (collections,) = [each for each in of_kind(objects, "ConfigMap") if "collections" in each["metadata"]["name"]]
    program = typer.main.get_command(app)
    assert isinstance(program, Commands)
    for pod in pods(objects):
        (container,) = pod["containers"]
        words = [word for word in container["args"] if not word.startswith("/")]
        assert words[0] in program.table
        files = [word for word in container["args"] if word.startswith("/")]
        assert files == [f"/etc/stream-ldp/collections/{name}" for name in ("survey.yaml", "films.yaml")]
        (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "collections"]
        assert volume["configMap"]["name"] == collections["metadata"]["name"]
    for name, text in collections["data"].items():
        parse_collection(text, source=name)


def test_the_disruption_budget_and_the_scaler_are_about_the_workers(objects: list[dict[str, Any]]) -> None:
    worker = the_worker(objects)
    labels = worker["spec"]["template"]["metadata"]["labels"]
    (budget,) = of_kind(objects, "PodDisruptionBudget")
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for scaler in of_kind(objects, "ScaledObject"):
        assert scaler["spec"]["scaleTargetRef"] == {"name": worker["metadata"]["name"]}
        assert "replicas" not in worker["spec"], "it would be set back whenever the overlay is applied"
    for monitor in of_kind(objects, "PodMonitor"):
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_no_secret_is_in_the_manifests(objects: list[dict[str, Any]]) -> None:
    assert not of_kind(objects, "Secret")


def test_the_plain_autoscaler_is_valid_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    # Kustomize reads below its own folder or by relative paths, so the overlay is written beside the others.
    overlay = DEPLOY / "overlays" / f"test-{tmp_path_factory.mktemp('x').name}"
    overlay.mkdir()
    try:
        (overlay / "kustomization.yaml").write_text(
            "resources: [../../base]\ncomponents: [../../components/hpa]\n", encoding="utf-8"
        )
        objects = rendered(f"overlays/{overlay.name}")
    finally:
        shutil.rmtree(overlay)
    (scaler,) = of_kind(objects, "HorizontalPodAutoscaler")
    kubernetes_validate.validate(scaler, KUBERNETES, strict=True)
    assert scaler["spec"]["scaleTargetRef"]["name"] == the_worker(objects)["metadata"]["name"]
    assert "replicas" not in the_worker(objects)["spec"]
