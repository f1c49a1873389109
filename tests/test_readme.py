"""What the README says, held against the code."""

from __future__ import annotations

import math
import re
from pathlib import Path

from stream_ldp.cli import app
from stream_ldp.joint_collection import JointCollection

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def example() -> JointCollection:
    """The collection that the README shows."""
    (text,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    return JointCollection.parse(text, source="README.md")


def test_the_privacy_statement_has_the_mechanisms_own_numbers() -> None:
    mechanism = example().mechanism
    (table,) = re.findall(r"<!-- privacy: .*? -->\n(.*?)<!-- /privacy -->", README, flags=re.DOTALL)
    rows = re.findall(r"^\| (\d+|all) reports?.*? \| ([\d.]+) \| ([\d.]+) \|$", table, flags=re.MULTILINE)
    assert len(rows) == 5
    for reports, *stated in rows:
        seen = math.inf if reports == "all" else int(reports)
        for neighbours, epsilon in enumerate(map(float, stated), start=1):
            exact = mechanism.epsilon(neighbours=neighbours, reports=seen)
            # Rounded up to the third decimal: a promise of privacy is never rounded down.
            assert exact <= epsilon < exact + 0.001, (reports, neighbours, exact)


def test_every_command_of_the_readme_exists() -> None:
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    groups = {group.name for group in app.registered_groups}
    shown = set(re.findall(r"stream-ldp ([a-z]+)", README))
    assert shown <= commands | groups
