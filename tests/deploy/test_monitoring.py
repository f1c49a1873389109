"""Tests of alerts and dashboards: every metric exists, every rule fires and stays quiet where it should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from stream_ldp.service.metrics import Metrics
from tests.paths import REPOSITORY

MONITORING = REPOSITORY / "deploy" / "components" / "monitoring"
DASHBOARDS = sorted((MONITORING / "dashboards").glob("*.json"))
RULES = yaml.safe_load((MONITORING / "rules.yaml").read_text(encoding="utf-8"))["spec"]
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
CASES = Path(__file__).with_name("alerts.yaml")

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool evaluates the rules")


def samples() -> set[str]:
    """The names of all samples that a worker exposes."""
    registry = CollectorRegistry()
    Metrics(["care"], registry=registry)
    # A metric with labels of which none are known yet has no sample, and has its name all the same.
    suffixes = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}
    return {f"{metric.name}{suffix}" for metric in registry.collect() for suffix in suffixes[metric.type]}


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


@pytest.mark.parametrize(("place", "expression"), panels())
def test_a_panel_reads_metrics_that_exist(place: str, expression: str) -> None:
    assert named(expression) <= samples()


def test_dashboards_have_names_of_their_own_and_panels_that_do_not_overlap() -> None:
    boards = [json.loads(path.read_text(encoding="utf-8")) for path in DASHBOARDS]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == len(boards) == 4
    for board in boards:
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not taken & cells
            assert at["x"] + at["w"] <= 24
            taken |= cells


def test_every_metric_of_a_worker_is_on_a_dashboard() -> None:
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
