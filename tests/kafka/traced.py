"""Trace into memory, for tests of what is traced."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.tracing import begin_tracing, end_tracing


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """Trace into memory."""
    # Imported here, since hardly any test traces.
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter = InMemorySpanExporter()
    begin_tracing(Settings.load(tracing=True), service="test", processor=SimpleSpanProcessor(exporter))
    yield exporter
    end_tracing()
