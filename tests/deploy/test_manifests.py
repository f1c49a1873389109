"""Tests of the manifests of Kubernetes: what kubectl renders of each overlay."""

import inspect
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml

from stream_ldp.cli import app, gateway, page
from stream_ldp.cli.commands import Commands
from stream_ldp.http.hosts import Hosts
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.settings_sources import ENVIRONMENT_PREFIX
from stream_ldp.kinds import parse_collection
from stream_ldp.service import worker
from tests.paths import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
OVERLAYS = sorted(path.name for path in (DEPLOY / "overlays").iterdir())

#: The oldest release of Kubernetes that is supported by its makers.
KUBERNETES = "1.33"

#: Custom resources, of which Kubernetes itself has no schema.
CUSTOM = {"PodMonitor", "PrometheusRule", "ScaledObject"}


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What a workload serves, as the program says.

    stop_seconds: the longest that it takes to end.
    """

    port_name: str
    port: int
    live: str
    ready: str
    stop_seconds: float


#: The commands that are given flags.
COMMANDS = {"gateway": inspect.signature(gateway.gateway), "page": inspect.signature(page.page)}

SERVING = {
    "stream-ldp-worker": Serving(
        port_name="admin",
        port=Settings.model_fields["admin_port"].default,
        live="/livez",
        ready="/readyz",
        stop_seconds=worker.STOP_SECONDS,
    ),
    "stream-ldp-gateway": Serving(
        port_name="http",
        port=COMMANDS["gateway"].parameters["port"].default,
        live="/livez",
        ready="/readyz",
        stop_seconds=gateway.STOP_SECONDS,
    ),
    # Its open connections are cut after a second.
    "stream-ldp-page": Serving(
        port_name="http",
        port=COMMANDS["page"].parameters["port"].default,
        live="/livez",
        ready="/livez",
        stop_seconds=1.0,
    ),
}

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl renders the overlays")


def rendered(folder: str) -> list[dict[str, Any]]:
    """Every object that an overlay makes."""
    done = subprocess.run(["kubectl", "kustomize", DEPLOY / folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of_chart(*values: str) -> list[dict[str, Any]]:
    """Every object that the Helm chart makes; skip the test where nothing renders it."""
    if shutil.which("helm") is None:
        pytest.skip("helm renders the chart: go install helm.sh/helm/v3/cmd/helm@v3.18.4")
    command = ["helm", "template", "a-release", str(DEPLOY / "chart"), *(f"--set={each}" for each in values)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each is not None]
    for each in found:
        each["metadata"]["name"] = each["metadata"]["name"].removesuffix("-1")  # the release's first revision
    return found


@pytest.fixture(scope="module", params=[*OVERLAYS, "chart"])
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return of_chart() if request.param == "chart" else rendered(f"overlays/{request.param}")


def test_the_chart_has_what_the_base_has_and_what_its_values_say() -> None:
    base = rendered("base")
    assert {(each["kind"], each["metadata"]["name"].split("-b")[0]) for each in of_chart()} >= {
        (each["kind"], each["metadata"]["name"]) for each in base if each["kind"] != "ConfigMap"
    }
    mine = of_chart(
        *("page.enabled=false", "worker.replicas=5", "image.repository=registry.example.com/ldp", "brokerPort=9093"),
        *("secretName=kafka", "collections.mine\\.yaml=collection: mine", "settings.STREAM_LDP_BROKERS=b:9093"),
    )
    assert not [each for each in mine if each["metadata"]["name"] == "stream-ldp-page"]
    worker = named(mine, "Deployment", "stream-ldp-worker")
    assert worker["spec"]["replicas"] == 5
    container = the_container(worker["spec"]["template"]["spec"])
    assert container["args"] == ["worker", "/etc/stream-ldp/collections/mine.yaml"]
    assert container["image"] == "registry.example.com/ldp:0.1.0"
    assert {"name": "secret", "mountPath": "/etc/stream-ldp/secret", "readOnly": True} in container["volumeMounts"]
    assert named(mine, "ConfigMap", "stream-ldp-collections")["data"] == {"mine.yaml": "collection: mine"}
    assert named(mine, "ConfigMap", "stream-ldp-settings")["data"]["STREAM_LDP_BROKERS"] == "b:9093"
    assert named(mine, "NetworkPolicy", "stream-ldp")["spec"]["egress"][1]["ports"][0]["port"] == 9093


def test_an_alert_leads_to_the_address_of_the_runbook() -> None:
    (rules,) = of_kind(rendered("overlays/prod"), "PrometheusRule")
    urls = [rule["annotations"]["runbook_url"] for group in rules["spec"]["groups"] for rule in group["rules"]]
    assert all(url.startswith("https://docs.example.com/runbook/#streamldp") for url in urls), urls


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def workloads(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The specification of the pods of every workload, by its name."""
    kinds = (*of_kind(objects, "Deployment"), *of_kind(objects, "Job"))
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in kinds}


def pods(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(workloads(objects).values())


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in of_kind(objects, kind) if each["metadata"]["name"] == name]
    return found


def labels_of(objects: list[dict[str, Any]], name: str) -> dict[str, str]:
    """The labels of the pods of a workload."""
    (found,) = [
        each for kind in ("Deployment", "Job") for each in of_kind(objects, kind) if each["metadata"]["name"] == name
    ]
    labels: dict[str, str] = found["spec"]["template"]["metadata"]["labels"]
    return labels


def the_container(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["containers"]
    return dict(container)


def test_every_object_is_valid_for_kubernetes_and_has_no_misspelt_field(objects: list[dict[str, Any]]) -> None:
    for each in objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, KUBERNETES, strict=True)


def test_a_misspelt_field_would_be_found(objects: list[dict[str, Any]]) -> None:
    found = named(objects, "Deployment", "stream-ldp-worker")
    misspelt = {**found, "spec": {**found["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(misspelt, KUBERNETES, strict=True)


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


def test_there_are_workers_gateways_a_page_and_their_topics(objects: list[dict[str, Any]]) -> None:
    assert set(workloads(objects)) == {*SERVING, "stream-ldp-topics"}


def test_no_container_has_a_pool_of_threads_for_each_solve(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        given = {each["name"]: each.get("value") for each in the_container(pod)["env"]}
        assert given["OPENBLAS_NUM_THREADS"] == given["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("name", SERVING)
def test_a_pod_is_given_the_time_to_end_in_good_order(objects: list[dict[str, Any]], name: str) -> None:
    pod = workloads(objects)[name]
    before = the_container(pod).get("lifecycle", {"preStop": {"sleep": {"seconds": 0}}})["preStop"]["sleep"][
        "seconds"
    ]
    assert pod["terminationGracePeriodSeconds"] >= before + SERVING[name].stop_seconds + 5
    # A gateway or a page gets connections from a service, which learns late that a pod ends.
    assert (before > 0) == (name != "stream-ldp-worker")


@pytest.mark.parametrize("name", SERVING)
def test_probes_ask_what_is_served(objects: list[dict[str, Any]], name: str) -> None:
    serving, container = SERVING[name], the_container(workloads(objects)[name])
    (port,) = container["ports"]
    assert port == {"name": serving.port_name, "containerPort": serving.port}
    encrypted = any(word.startswith("--cert-file") for word in container["args"])
    scheme = {"scheme": "HTTPS"} if encrypted else {}
    for probe, path in (
        ("startupProbe", serving.live),
        ("livenessProbe", serving.live),
        ("readinessProbe", serving.ready),
    ):
        assert container[probe]["httpGet"] == {"path": path, "port": serving.port_name, **scheme}
    # A pod that starts slowly must not be killed for it.
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 60


@pytest.mark.parametrize("name", ["stream-ldp-gateway", "stream-ldp-page"])
def test_a_service_leads_to_the_pods_and_their_port(objects: list[dict[str, Any]], name: str) -> None:
    service = named(objects, "Service", name)
    assert service["spec"]["selector"].items() <= labels_of(objects, name).items()
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] == the_container(workloads(objects)[name])["ports"][0]["name"]
    others = [other for other in workloads(objects) if other != name]
    assert not any(service["spec"]["selector"].items() <= labels_of(objects, other).items() for other in others)


def test_nothing_but_a_door_is_open_to_everyone(objects: list[dict[str, Any]]) -> None:
    for name in workloads(objects):
        labels = labels_of(objects, name)
        policies = [
            each["spec"]
            for each in of_kind(objects, "NetworkPolicy")
            if each["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        ]
        # Whatever no policy lets in is kept out, and whatever none lets out stays in.
        assert {"Ingress", "Egress"} <= {each for policy in policies for each in policy["policyTypes"]}
        let_in = [rule for policy in policies for rule in policy.get("ingress", [])]
        ports = [port["port"] for rule in let_in for port in rule["ports"]]
        assert ports == ([SERVING[name].port] if name in SERVING else [])
        assert all("from" in rule for rule in let_in) or name == "stream-ldp-gateway"
        let_out = [port["port"] for policy in policies for rule in policy.get("egress", []) for port in rule["ports"]]
        assert let_out == [53, 53, _broker_port(objects)]


def test_the_door_of_production_is_encrypted_and_wants_a_token() -> None:
    objects = rendered("overlays/prod")
    pod = workloads(objects)["stream-ldp-gateway"]
    container = the_container(pod)
    given = dict(word.removeprefix("--").split("=", 1) for word in container["args"] if "=" in word)
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    secrets = {volume["name"]: volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
    for flag in ("cert-file", "key-file", "tokens-file"):
        folder, _, _ = given[flag].rpartition("/")
        assert secrets[mounted[folder]].startswith("stream-ldp-gateway")
    # An address that a proxy replaces would give all clients one allowance.
    assert named(objects, "Service", "stream-ldp-gateway")["spec"]["externalTrafficPolicy"] == "Local"
    monitor = named(objects, "PodMonitor", "stream-ldp-gateway")
    assert monitor["spec"]["podMetricsEndpoints"][0]["scheme"] == "https"


def test_in_production_each_has_a_user_and_a_secret_of_its_own() -> None:
    objects = rendered("overlays/prod")
    users, secrets = set(), set()
    for name, pod in workloads(objects).items():
        (user,) = [each["value"] for each in the_container(pod)["env"] if each["name"] == "STREAM_LDP_SASL_USERNAME"]
        (volume,) = [each for each in pod["volumes"] if each["name"] == "kafka"]
        assert (user, volume["secret"]["secretName"]) == (name, f"{name}-kafka")
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
        users.add(user)
        secrets.add(volume["secret"]["secretName"])
    assert len(users) == len(secrets) == 4


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
    for pod in pods(objects):
        with monkeypatch.context() as patch:
            for each in the_container(pod)["env"]:
                patch.setenv(each["name"], each["value"])
            loaded = Settings.load()
        assert loaded.admin_host == "0.0.0.0"
        # Clients in the cluster call a service by its name, which a server has to be told.
        hosts = Hosts.of(loaded.allowed_hosts)
        for each in of_kind(objects, "Service"):
            name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
            called = (name, *(f"{name}.{namespace}{zone}" for zone in ("", ".svc", ".svc.cluster.local")))
            assert [each for each in called if not hosts.accept(f"{each}:8443")] == []
        assert {int(address.rpartition(":")[2]) for address in loaded.broker_addresses} == {_broker_port(objects)}


def _broker_port(objects: list[dict[str, Any]]) -> int:
    """The port of the brokers to which the network policy lets everything out."""
    policy = named(objects, "NetworkPolicy", "stream-ldp")
    (port,) = policy["spec"]["egress"][1]["ports"]
    return int(port["port"])


def test_the_commands_exist_and_name_collections_that_are_mounted(objects: list[dict[str, Any]]) -> None:
    (collections,) = [each for each in of_kind(objects, "ConfigMap") if "collections" in each["metadata"]["name"]]
    program = typer.main.get_command(app)
    assert isinstance(program, Commands)
    for pod in pods(objects):
        container = the_container(pod)
        words = [word for word in container["args"] if not word.startswith("/")]
        assert words[0] in program.table
        flags = {word.removeprefix("--").partition("=")[0].replace("-", "_") for word in words[1:] if "--" in word}
        assert flags <= (COMMANDS[words[0]].parameters.keys() if flags else set())
        files = [word for word in container["args"] if word.startswith("/")]
        assert sorted(files) == [f"/etc/stream-ldp/collections/{name}" for name in ("films.yaml", "survey.yaml")]
        (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "collections"]
        assert volume["configMap"]["name"] == collections["metadata"]["name"]
    for name, text in collections["data"].items():
        parse_collection(text, source=name)


@pytest.mark.parametrize("name", SERVING)
def test_a_drained_node_takes_one_pod_of_a_kind_at_a_time(objects: list[dict[str, Any]], name: str) -> None:
    budget = named(objects, "PodDisruptionBudget", name)
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels_of(objects, name).items()
    assert budget["spec"]["maxUnavailable"] == 1


def test_what_is_scaled_or_scraped_exists_and_has_no_number_of_its_own(objects: list[dict[str, Any]]) -> None:
    for scaler in (*of_kind(objects, "ScaledObject"), *of_kind(objects, "HorizontalPodAutoscaler")):
        deployment = named(objects, "Deployment", scaler["spec"]["scaleTargetRef"]["name"])
        assert "replicas" not in deployment["spec"], "it would be set back whenever the overlay is applied"
    for monitor in of_kind(objects, "PodMonitor"):
        name = monitor["metadata"]["name"]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= labels_of(objects, name).items()
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] == SERVING[name].port_name


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
    assert scaler["spec"]["scaleTargetRef"]["name"] == "stream-ldp-worker"
    assert "replicas" not in named(objects, "Deployment", "stream-ldp-worker")["spec"]
