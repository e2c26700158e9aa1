"""Times every HTTP request, and logs it."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from revelio.support.metrics import Metrics

log = logging.getLogger(__name__)

_QUIET = ("/healthz", "/readyz", "/metrics", "/static/")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class RequestMetrics:
    """Records duration and status under the route's pattern, so that ids in paths do not become label values."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            took = time.perf_counter() - began
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(method, route, str(status)).observe(took)
            if not scope["path"].startswith(_QUIET):
                log.info("%s %s %d in %.0f ms", scope["method"], scope["path"], status, took * 1000.0)
