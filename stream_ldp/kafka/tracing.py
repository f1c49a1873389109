"""Trace what gateways and workers do, by OpenTelemetry, where the setting `tracing` asks for it.

A gateway begins a trace for each batch and names it in the header `traceparent` of the record; the worker's span that
counts the batch links to it. Clients never add the header, and gateways never go on with the trace of a request: a
trace that began in the user's application would show the operator whose report it is. A trace that begins at the
gateway passes on no more than the id of the batch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from stream_ldp.extras import imported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_ldp.kafka.settings import Settings

#: Name of the header, as the W3C has it.
TRACEPARENT = "traceparent"

#: Most links of one span: those of a turn's first batches. It is the limit of OpenTelemetry's SDK.
MAX_LINKS = 128


class _State:
    """The tracer of this process; None while nothing is traced."""

    tracer: Any = None
    provider: Any = None


def begin_tracing(settings: Settings, *, service: str, processor: Any = None) -> None:
    """Trace from now on if the settings say so; OpenTelemetry's own variables OTEL_* say where spans are sent.

    service: name of this kind of process.
    processor: what takes the spans; None to send them by OTLP over HTTP.

    Raises:
        MissingExtra: the extra `tracing` is not installed.
    """
    if not settings.tracing:
        return
    trace = imported("opentelemetry.sdk.trace", extra="tracing")
    resources = imported("opentelemetry.sdk.resources", extra="tracing")
    if processor is None:
        export = imported("opentelemetry.sdk.trace.export", extra="tracing")
        otlp = imported("opentelemetry.exporter.otlp.proto.http.trace_exporter", extra="tracing")
        processor = export.BatchSpanProcessor(otlp.OTLPSpanExporter())
    # A provider of its own, and not the one of the process, which an application may have set up for itself.
    _State.provider = trace.TracerProvider(resource=resources.Resource.create({"service.name": service}))
    _State.provider.add_span_processor(processor)
    _State.tracer = _State.provider.get_tracer("stream_ldp")


def end_tracing() -> None:
    """Send what is left, and trace nothing more; nothing happens if nothing is traced."""
    if _State.provider is not None:
        _State.provider.shutdown()
    _State.provider = _State.tracer = None


def is_tracing() -> bool:
    """Return whether anything is traced: to begin a span that is none takes 2 us."""
    return _State.tracer is not None


def span(
    name: str, *, root: bool = False, links: Iterable[Any] = (), **attributes: str | int | float
) -> AbstractContextManager[Any]:
    """Return a block that is traced as a span, or is not traced.

    root: whether it begins a trace of its own, whatever is being traced around it.
    links: see `links_of`.
    """
    if _State.tracer is None:
        return nullcontext()
    context = imported("opentelemetry.context", extra="tracing").Context() if root else None
    started: AbstractContextManager[Any] = _State.tracer.start_as_current_span(
        name, context=context, links=list(links), attributes=attributes
    )
    return started


def trace_headers() -> tuple[tuple[str, bytes], ...]:
    """Return the headers of a record that is sent in the current span; none if nothing is traced."""
    if _State.tracer is None:
        return ()
    carrier: dict[str, str] = {}
    _propagator().inject(carrier)
    return tuple((name, value.encode()) for name, value in carrier.items() if name == TRACEPARENT)


def links_of(records: Iterable[Any]) -> list[Any]:
    """Return links to the spans in which records were sent, of those that name one; at most MAX_LINKS."""
    if _State.tracer is None:
        return []
    api = imported("opentelemetry.trace", extra="tracing")
    found: list[Any] = []
    for record in records:
        value = next((value for name, value in record.headers or () if name == TRACEPARENT), None)
        if value is None:
            continue
        # A client that may write reports may write anything here; what is no trace gives no link.
        context = _propagator().extract({TRACEPARENT: value.decode("ascii", errors="replace")})
        sent = api.get_current_span(context).get_span_context()
        if sent.is_valid:
            found.append(api.Link(sent))
            if len(found) == MAX_LINKS:
                break
    return found


def _propagator() -> Any:
    return imported("opentelemetry.trace.propagation.tracecontext", extra="tracing").TraceContextTextMapPropagator()
