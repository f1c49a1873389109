"""Traces: off unless asked for, begun at the gateway, linked by what counts, and never begun by a client."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stream_ldp.client.reporter import Reporter
from stream_ldp.extras import MissingExtra
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.tracing import MAX_LINKS, TRACEPARENT, begin_tracing, links_of, span, trace_headers
from stream_ldp.pipeline.content_type import BATCH
from stream_ldp.testing import kafka_in_memory
from tests.client.examples import collection_of


def record(*headers: tuple[str, bytes]) -> Any:
    return SimpleNamespace(headers=headers)


def test_by_default_nothing_is_traced_and_no_header_is_added() -> None:
    begin_tracing(Settings.load(), service="test")
    with span("send", root=True, collection="care"):
        assert trace_headers() == ()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert links_of([record((TRACEPARENT, parent.encode()))]) == []


def test_what_does_not_trace_does_not_load_opentelemetry() -> None:
    program = (
        "import sys, stream_ldp.cli.worker, stream_ldp.cli.gateway\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_a_span_that_counts_links_to_those_that_sent_its_batches(spans: InMemorySpanExporter) -> None:
    sent = []
    for _ in range(2):
        with span("send", root=True, collection="care", reports=5):
            sent.append(record(*trace_headers()))
    ((name, value),) = sent[0].headers
    assert (name, len(value)) == (TRACEPARENT, 55)
    others = [record(), record((TRACEPARENT, b"\xff junk")), record((TRACEPARENT, b"00-0-0-00"))]
    with span("count", links=links_of([*sent, *others]), batches=5):
        pass
    *senders, counter = spans.get_finished_spans()
    assert len({each.context.trace_id for each in senders}) == 2, "a trace of its own for each batch"
    assert [link.context.span_id for link in counter.links] == [each.context.span_id for each in senders]
    assert dict(counter.attributes or {}) == {"batches": 5}
    assert len(links_of(sent * MAX_LINKS)) == MAX_LINKS


def test_a_root_is_no_part_of_the_trace_around_it(spans: InMemorySpanExporter) -> None:
    with span("request"), span("send", root=True):
        pass
    with span("answer", root=True), span("solve"):
        pass
    found = {each.name: each for each in spans.get_finished_spans()}
    assert found["send"].parent is None
    assert found["send"].context.trace_id != found["request"].context.trace_id
    assert found["solve"].parent is not None
    assert found["solve"].parent.span_id == found["answer"].context.span_id


async def test_no_client_sends_the_header_even_if_its_application_is_traced(spans: InMemorySpanExporter) -> None:
    survey = collection_of()
    with kafka_in_memory(survey) as kafka, span("the application's own"):
        assert trace.get_current_span().get_span_context().is_valid
        async with Reporter(survey, settings=kafka.settings, clock=kafka.clock) as reporter:
            await reporter.report_many(np.zeros((3, 2), dtype=np.int64), secrets=None)
        (sent,) = kafka.broker.sent
        assert tuple(dict(sent.others)["headers"]) == BATCH
    assert [each.name for each in spans.get_finished_spans()] == ["the application's own"]


def test_where_the_extra_is_missing_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingExtra, match=r"(?s)needs opentelemetry.*'stream-ldp\[tracing\]'"):
        begin_tracing(Settings.load(tracing=True), service="test")
