"""Tests of alerts and dashboards: every metric exists, every rule fires and stays quiet where it should."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from stream_ldp.gateway.metrics import GatewayMetrics
from stream_ldp.service.metrics import Metrics
from tests.paths import REPOSITORY

MONITORING = REPOSITORY / "deploy" / "components" / "monitoring"
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))
RULES = yaml.safe_load((MONITORING / "rules.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
CASES = Path(__file__).with_name("alerts.yaml")

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool evaluates the rules")


def samples() -> set[str]:
    """The names of all samples that a worker or a gateway exposes."""
    registry = CollectorRegistry()
    Metrics(["care"], registry=registry)
    collected = [*registry.collect(), *GatewayMetrics(["care"]).registry.collect()]
    # A metric with labels of which none are known yet has no sample, and has its name all the same.
    suffixes = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}
    return {f"{metric.name}{suffix}" for metric in collected for suffix in suffixes[metric.type]}


def named(expression: str) -> set[str]:
    """The metrics of ours that an expression reads."""
    return set(re.findall(r"\bstream_ldp_\w+", expression))


def panels() -> list[tuple[str, str]]:
    """Every expression of a dashboard, with the place where it is."""
    found = []
    for path in DASHBOARDS:
        board = json.loads(path.read_text(encoding="utf-8"))
        for panel in board["panels"]:
            found += [(f"{path.name}: {panel['title']}", target["expr"]) for target in panel["targets"]]
    return found


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_an_alert_reads_metrics_that_exist_and_has_its_section_in_the_runbook(rule: dict[str, Any]) -> None:
    assert named(rule["expr"]) <= samples()
    assert rule["labels"]["severity"] in {"page", "ticket"}
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    sections = re.findall(r"^## (\w+)$\n\n\*(\w+)\.\*", (REPOSITORY / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(sections)[rule["alert"]] == rule["labels"]["severity"]
    assert anchor == rule["alert"].lower()


def test_the_runbook_has_no_section_of_an_alert_that_is_gone() -> None:
    text = (REPOSITORY / "docs" / "runbook.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)) == {rule["alert"] for rule in ALERTS}


@pytest.mark.parametrize("page", sorted((REPOSITORY / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_docs_name_metrics_that_exist(page: Path) -> None:
    written = set(re.findall(r"`(stream_ldp_[a-z_]+)`", page.read_text(encoding="utf-8")))
    families = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in samples()}
    assert written <= samples() | families


def jobs(expression: str) -> set[str]:
    """The jobs that an expression asks about, of which Prometheus knows the pod monitors by name."""
    return set(re.findall(r'job=~"\.\*([\w-]+)"', expression))


def test_what_is_asked_about_a_job_is_about_one_that_is_scraped() -> None:
    monitors = yaml.safe_load_all((MONITORING / "pod-monitor.yaml").read_text(encoding="utf-8"))
    scraped = {each["metadata"]["name"] for each in monitors}
    composed = yaml.safe_load((REPOSITORY / "docker/monitoring/prometheus.yaml").read_text(encoding="utf-8"))
    assert {each["job_name"] for each in composed["scrape_configs"]} == scraped
    expressions = [*(expression for _, expression in panels()), *(rule["expr"] for rule in ALERTS)]
    assert set().union(*map(jobs, expressions)) == scraped
    # An expression that matches by other means would not be seen here.
    assert all(expression.count("job") == len(re.findall(r"job=~", expression)) for expression in expressions)


@pytest.mark.parametrize(("place", "expression"), panels())
def test_a_panel_reads_metrics_that_exist(place: str, expression: str) -> None:
    assert named(expression) <= samples()


def test_dashboards_have_names_of_their_own_and_panels_that_do_not_overlap() -> None:
    boards = [json.loads(path.read_text(encoding="utf-8")) for path in DASHBOARDS]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == len(boards) == 5
    for board in boards:
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not taken & cells
            assert at["x"] + at["w"] <= 24
            taken |= cells


def test_every_metric_of_a_worker_or_a_gateway_is_on_a_dashboard() -> None:
    shown = set().union(*(named(expression) for _, expression in panels()))
    families = {
        re.sub(r"_(total|bucket|sum|count)$", "", name) for name in samples() if name.startswith("stream_ldp")
    }
    assert families - {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in shown} == {"stream_ldp_build_info"}


@needs_promtool
def test_every_expression_is_one_that_prometheus_understands(tmp_path: Path) -> None:
    variables = {"$__rate_interval": "5m", "$collection": ".*"}
    rules = []
    for index, (_, expression) in enumerate(panels()):
        text = re.sub("|".join(map(re.escape, variables)), lambda found: variables[found[0]], expression)
        rules.append({"record": f"panel:{index}", "expr": text})
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [*RULES["groups"], {"name": "panels", "rules": rules}]}), "utf-8")
    promtool("check", "rules", path)


@needs_promtool
def test_every_alert_fires_in_one_case_and_is_quiet_in_another(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(RULES), encoding="utf-8")
    cases = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({**cases, "rule_files": ["rules.yaml"]}), encoding="utf-8")
    promtool("test", "rules", tmp_path / "alerts.yaml")
    asked = [case for test in cases["tests"] for case in test["alert_rule_test"]]
    fires = {case["alertname"] for case in asked if case["exp_alerts"]}
    quiet = {case["alertname"] for case in asked if not case["exp_alerts"]}
    assert fires == quiet == {rule["alert"] for rule in ALERTS}
