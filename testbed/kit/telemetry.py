"""Traces and metrics, with OpenTelemetry's names."""

from __future__ import annotations

import time

import httpx
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor, RequestInfo
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import Counter, Gauge, Histogram

from kit.settings import Settings

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

SERVER_SECONDS = Histogram(
    "http_server_request_duration_seconds",
    "Requests served",
    ("http_request_method", "http_route", "http_response_status_code"),
    buckets=BUCKETS,
)
CLIENT_SECONDS = Histogram(
    "http_client_request_duration_seconds",
    "Requests made to other services",
    ("server_address", "http_response_status_code", "error_type"),
    buckets=BUCKETS,
)
LIMITED = Counter("http_server_requests_limited_total", "Requests refused because there were too many")
POOL_CONNECTIONS = Gauge("db_client_connection_count", "Database connections by state", ("pool", "state"))
POOL_MAX = Gauge("db_client_connection_max", "Most database connections allowed", ("pool",))
POOL_WAITING = Gauge("db_client_connection_pending_requests", "Callers waiting for a database connection", ("pool",))
CACHE_REQUESTS = Counter("cache_requests_total", "Look-ups in a cache by outcome: hit, miss or failed", ("cache", "outcome"))
QUEUE_DEPTH = Gauge("messaging_queue_depth", "Messages that are not handled yet", ("queue",))
QUEUE_OLDEST = Gauge("messaging_queue_oldest_seconds", "Age of the oldest message that is not handled yet", ("queue",))
QUEUE_PUBLISHED = Counter("messaging_client_published_messages_total", "Messages sent", ("queue", "outcome"))
PROCESS_SECONDS = Histogram(
    "messaging_process_duration_seconds",
    "Messages handled, by outcome: done, failed or dead",
    ("queue", "outcome"),
    buckets=BUCKETS,
)
TIME = Gauge("node_time_seconds", "What time it is here, in Unix seconds")
BUILD = Gauge("app_build_info", "The deployed version", ("version",))


def start_telemetry(settings: Settings) -> TracerProvider:
    """Send spans within a second; instrument HTTP, SQL and Redis clients."""
    provider = TracerProvider(resource=Resource.create({"service.name": settings.service, "service.version": settings.version}))
    if settings.traces:
        exporter = OTLPSpanExporter(endpoint=settings.traces, insecure=True, timeout=2)
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=700, max_export_batch_size=256))
    trace.set_tracer_provider(provider)
    HTTPXClientInstrumentor().instrument(async_request_hook=_name_peer)
    AsyncPGInstrumentor().instrument()  # type: ignore[no-untyped-call]
    RedisInstrumentor().instrument()
    TIME.set_function(time.time)
    BUILD.labels(settings.version).set(1)
    return provider


async def _name_peer(span: trace.Span, request: RequestInfo) -> None:
    """Client spans say whom they call: ``GET cart``, peer.service ``cart``."""
    host = request.url.host if isinstance(request.url, httpx.URL) else str(request.url[1])
    span.update_name(f"{request.method.decode()} {host}")
    span.set_attribute("peer.service", host)
