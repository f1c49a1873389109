"""The pages for operators name metrics and commands that exist."""

import re
from pathlib import Path

import pytest

from stream_ldp.service.metrics import Metrics
from tests.command_lines import parse
from tests.pages.page import text_of


@pytest.mark.parametrize("page", ["docs/operate/worker.md", "docs/operate/monitor.md"])
def test_every_metric_of_the_page_is_there_from_the_start(page: str) -> None:
    metrics = Metrics(["survey"])
    exposed = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    exposed |= {family.name for family in metrics.registry.collect()}
    shown = set(re.findall(r"`(stream_ldp_\w+)`", text_of(page)))
    assert shown
    assert shown <= exposed


def test_every_command_of_the_page_has_the_arguments_and_options_that_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.yaml").touch()
    shown = re.findall(
        r"(?:^|`)stream-ldp ([^`\n]*?survey\.yaml[^`\n]*)",
        text_of("docs/operate/worker.md"),
        flags=re.MULTILINE,
    )
    assert len(shown) >= 6
    for line in shown:
        parse(line)
