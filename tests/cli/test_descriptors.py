"""Tests that a process that serves has room for its files and connections, or ends with one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_ldp.cli.descriptors import EACH_COLLECTION, LEAST, WANTED
from stream_ldp.kafka.settings import Settings
from tests.forked import Forked
from tests.service.harness import JointDeployment

#: A program that may open so many files, and to which it may raise that, and that then is the command line.
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)), int(sys.argv.pop(1))))
from stream_ldp.__main__ import main
main()
"""

#: A program with such limits that says to what they are raised.
RAISED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
from stream_ldp.cli.descriptors import require_descriptors
require_descriptors(int(sys.argv[3]))
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")


@pytest.mark.parametrize("command", ["worker", pytest.param("gateway", marks=pytest.mark.long), "page"])
def test_a_server_that_may_open_sixteen_files_says_so_and_ends(command: str, survey: Path) -> None:
    (program := survey.with_name("limited.py")).write_text(LIMITED)
    output = survey.with_name("log")
    words = [str(program), "16", "16", command, str(survey), "--brokers", "127.0.0.1:1"]
    assert Forked(words, output=output, environment=os.environ).wait(60) == 1
    said = output.read_text(encoding="utf-8")
    least = LEAST + EACH_COLLECTION if command == "worker" else LEAST
    assert f"this process may open 16 files and connections, and needs {least}" in said
    assert "-> raise the limit: ulimit -n" in said
    assert len(said) < 1_000


@pytest.mark.parametrize(
    ("soft", "hard", "raised"), [(16, 100, 100), (16, 2 * WANTED, WANTED), (WANTED + 1, WANTED + 2, WANTED + 1)]
)
def test_a_limit_is_raised_as_far_as_it_may_be_and_is_wanted(soft: int, hard: int, raised: int) -> None:
    program = [sys.executable, "-c", RAISED, str(soft), str(hard), "90"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == [str(raised), str(hard)]


async def test_a_worker_works_with_the_least_that_it_asks_for(tmp_path: Path, settings: Settings) -> None:
    least = str(LEAST + EACH_COLLECTION)
    script = tmp_path / "limited.py"
    script.write_text(f"import sys\nsys.argv[1:1] = [{least!r}, {least!r}]\n{LIMITED}")
    deployment = await JointDeployment.create(tmp_path, brokers=settings.brokers, prefix=settings.topic_prefix)
    with deployment.worker(program=script) as worker:
        await worker.ready()
