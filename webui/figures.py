"""The server's own metrics, in Prometheus form at ``/metrics``."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Figures:
    """One registry per application, so that two in one process do not share counts."""

    def __init__(self) -> None:
        """All at zero."""
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Histogram(
            "revelio_http_request_duration_seconds", "HTTP requests", labels, buckets=_SECONDS, registry=self.registry
        )
        self.recommendations = Counter(
            "revelio_recommendations", "Answers given", ("degraded", "abstained"), registry=self.registry
        )
        self.runs = Counter("revelio_query_runs", "Queries run", ("tool", "outcome"), registry=self.registry)
        self.feedback = Counter("revelio_feedback", "Verdicts kept", ("verdict",), registry=self.registry)
        self.ready = Gauge("revelio_ready", "1 when answers can be had", registry=self.registry)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class RequestFigures:
    """Times every request under its route's pattern, so that ids in paths do not become label values."""

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app = app
        self.figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.figures.requests.labels(_method(scope["method"]), route, str(status)).observe(time.perf_counter() - began)


def _method(name: str) -> str:
    return name if name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
