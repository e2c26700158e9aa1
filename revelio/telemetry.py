"""Traces of Revelio's own work. They go nowhere, and cost next to nothing, until ``start_traces`` names an address."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from opentelemetry import trace

from revelio.errors import InvalidInputError

P = ParamSpec("P")
R = TypeVar("R")


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: each call is a span of that name, with the error that ended it. Arguments stay out of it: they are private."""

    def decorate(work: Callable[P, R]) -> Callable[P, R]:
        @wraps(work)
        def spanned(*args: P.args, **named: P.kwargs) -> R:
            with trace.get_tracer("revelio").start_as_current_span(name):
                return work(*args, **named)

        return spanned

    return decorate


def start_traces(endpoint: str) -> Callable[[], None]:
    """Send spans to an OTLP/HTTP address from now on; gives what sends the last ones and ends it. Nothing when it is empty.

    Raises ``InvalidInputError`` when the extra that can send them is not installed.
    """
    if not endpoint:
        return lambda: None
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        raise InvalidInputError(
            "telemetry.otlp_endpoint is set, but what sends traces is not installed: pip install 'revelio[otel]'"
        )
    if not endpoint.startswith(("http://", "https://")):
        raise InvalidInputError(f"telemetry.otlp_endpoint is {endpoint!r}; it begins with http:// or https://")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 -- an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 -- an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 -- an extra

    provider = TracerProvider(resource=Resource.create({"service.name": "revelio"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=5)))
    trace.set_tracer_provider(provider)
    return provider.shutdown
