"""docs/operate/worker.md names metrics that exist."""

from __future__ import annotations

import re

from stream_ldp.service.metrics import Metrics
from tests.pages.page import text_of


def test_every_metric_of_the_page_is_there_from_the_start() -> None:
    metrics = Metrics(["survey"])
    exposed = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    exposed |= {family.name for family in metrics.registry.collect()}
    shown = set(re.findall(r"`(stream_ldp_\w+)`", text_of("docs/operate/worker.md")))
    assert shown
    assert shown <= exposed
