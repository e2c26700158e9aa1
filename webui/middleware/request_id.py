"""An id for every request: in its log lines, in its response, and taken from the proxy in front where that gives one."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from revelio.telemetry_logs import request_id

log = logging.getLogger(__name__)

_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = ("/healthz", "/readyz", "/metrics", "/static/")


class RequestIdMiddleware:
    """Outermost, so that what others refuse has an id too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if _GIVEN.fullmatch(given) else secrets.token_hex(8)
        token, began, status = request_id.set(name), time.perf_counter(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = name
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            if not scope["path"].startswith(_QUIET):
                took = (time.perf_counter() - began) * 1000.0
                log.info("%s %s %d in %.0f ms", scope["method"], scope["path"], status, took)
            request_id.reset(token)
