"""Traces of Revelio's own work. They go nowhere, and cost next to nothing, until ``start_traces`` names an address."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from opentelemetry import trace

from revelio.errors import InvalidInputError
from revelio.support.extras import extras_for

P = ParamSpec("P")
R = TypeVar("R")


def traced(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: each call is a span of that name. Arguments stay out of it: they are private."""

    def decorate(work: Callable[P, R]) -> Callable[P, R]:
        @wraps(work)
        def spanned(*args: P.args, **named: P.kwargs) -> R:
            with span(name):
                return work(*args, **named)

        return spanned

    return decorate


@contextmanager
def span(name: str, **about: str) -> Iterator[None]:
    """A span for the block, below the one around it. Of an error that ends it, the kind: its words may quote what is private."""
    tracer = trace.get_tracer("revelio")
    with tracer.start_as_current_span(name, attributes=about, record_exception=False, set_status_on_exception=False) as current:
        try:
            yield
        except BaseException as error:
            current.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


class Workers(ThreadPoolExecutor):
    """Threads that run in the submitter's context: below its span, with its request id."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As in the standard library; ``map`` comes through here too."""
        context = contextvars.copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def start_traces(endpoint: str) -> Callable[[], None]:
    """Send spans to an OTLP/HTTP address from now on; gives what sends the last ones and ends it. Nothing when it is empty.

    Raises ``InvalidInputError`` for an address that is none, and when the extra that can send traces is not installed.
    """
    if not endpoint:
        return lambda: None
    if not endpoint.startswith(("http://", "https://")):
        raise InvalidInputError(f"telemetry.otlp_endpoint is {endpoint!r}; it begins with http:// or https://")
    with extras_for("the setting telemetry.otlp_endpoint"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 -- an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 -- an extra
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 -- an extra

    provider = TracerProvider(resource=Resource.create({"service.name": "revelio"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=5)))
    trace.set_tracer_provider(provider)
    return provider.shutdown
