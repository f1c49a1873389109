"""What the tutorials show can be followed, in order, on a real broker."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from stream_ldp.kafka.settings import Settings
from tests.pages.page import blocks, examples

#: In the order in which a newcomer reads them.
TUTORIALS = (
    "docs/tutorial/survey.md",
    "docs/tutorial/item-sets.md",
    "docs/tutorial/application.md",
    "docs/choosing.md",
    "docs/operate/worker.md",
)

#: Seconds for which the application is watched: on a busy machine, too, a window has then ended with its grace.
WATCHED_SECONDS = 60

#: Seconds in which all commands of some pages are done; a busy machine takes several times as long as an idle one.
FOLLOWED_SECONDS = 900


def followed(pages: Sequence[str], settings: Settings, folder: Path) -> str:
    """Run the commands of pages, one after the other, on a broker that runs already, and return what they print."""
    code, _ = blocks("docs/tutorial/application.md", "python")
    for name, text in (examples() | {"app.py": code}).items():
        (folder / name).write_text(text, encoding="utf-8")
    commands = [line for page in pages for block in blocks(page) for line in block.splitlines()]
    commands = [
        line for line in commands[commands.index("stream-ldp check survey.yaml") :] if line != "stream-ldp broker &"
    ]
    if "python app.py" in commands:
        # Nobody is there to press Ctrl-C. 124 says that it was still running.
        interrupted = f"timeout --signal=INT {WATCHED_SECONDS} python app.py || [ $? = 124 ]"
        commands[commands.index("python app.py")] = interrupted
    environment = os.environ | {
        "HOME": str(folder / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STREAM_LDP_BROKERS": settings.brokers,
        "STREAM_LDP_TOPIC_PREFIX": settings.topic_prefix,
        "STREAM_LDP_ADMIN_PORT": "0",
    }
    program = ["bash", "-c", "\n".join(["set -e", "trap 'kill $(jobs -p)' EXIT", *commands])]
    with subprocess.Popen(
        program,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=FOLLOWED_SECONDS)
        except subprocess.TimeoutExpired as late:
            # With the workers, which a shell that is killed would leave behind.
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"not done after {FOLLOWED_SECONDS} s: {late.stdout!r}")
    assert process.returncode == 0, printed + said
    return printed


@pytest.mark.long
@pytest.mark.timeout(FOLLOWED_SECONDS + 100)
def test_the_readme_can_be_followed(settings: Settings, tmp_path: Path) -> None:
    printed = followed(["README.md"], settings, tmp_path)
    assert re.search(r"bathing-mobility final reports=\d+ plausible=\w+ certified=yes", printed), printed


@pytest.mark.long
@pytest.mark.timeout(2 * FOLLOWED_SECONDS + 100)
def test_the_tutorials_can_be_followed_in_order_and_twice(settings: Settings, tmp_path: Path) -> None:
    for _ in range(2):
        printed = followed(TUTORIALS, settings, tmp_path)
        assert re.search(r"bathing-mobility final reports=\d+ plausible=\w+ certified=yes", printed), printed
        # alien and brazil are far above the others; the third is one of three that are equal.
        assert re.search(r"phase-3 final .* phase=3/3 found=([23])/3 .*alien=.* brazil=", printed), printed
        # The application: a window of its own report and others'.
        assert re.search(r"^\S+Z/\S+Z \d+ ", printed, flags=re.MULTILINE), printed
