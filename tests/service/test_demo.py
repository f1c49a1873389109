"""The README's first command."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


@pytest.mark.usefixtures("kafka")
def test_the_demo_ends_by_itself_with_an_estimate_near_the_truth() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stream_ldp.cli", "demo", "--seconds", "15", "--rate", "4000"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    summary = done.stdout.splitlines()[-1]
    found = re.search(r"to the truth: ([\d.]+) \(taken for independent: ([\d.]+)\)", summary)
    assert found, done.stdout
    near, independent = map(float, found.groups())
    # A window of 20,000 reports is within 0.04 on average, and independence is 0.12 off whatever the number.
    assert near < independent
