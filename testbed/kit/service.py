"""How a service is made and run: routes in, a Starlette application with tracing, metrics, health and errors out."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import uvicorn
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kit.limits import RateLimit
from kit.logs import start_logs
from kit.peers import PeerError
from kit.settings import Settings, read_settings
from kit.telemetry import LIMITED, SERVER_SECONDS, start_telemetry

log = logging.getLogger(__name__)
_UNSEEN = ("/healthz", "/metrics")


class Resource(Protocol):
    """Something that a service opens when it starts and closes when it stops."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


def run(make: Callable[[Settings], tuple[list[Route], Sequence[Resource]]]) -> None:
    """Read the settings, start telemetry and serve until told to stop."""
    settings = read_settings()
    start_logs(settings.service, settings.version)
    provider = start_telemetry(settings)
    routes, resources = make(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for resource in resources:
            await resource.open()
        log.info("%s %s is ready", settings.service, settings.version)
        yield
        for resource in reversed(resources):
            await resource.close()
        provider.shutdown()

    app = Starlette(
        routes=[Route("/healthz", _health), Route("/metrics", _metrics), *routes],
        middleware=[Middleware(Observed, limit=RateLimit(settings.number("RATE_LIMIT_PER_SECOND", 0)))],
        exception_handlers={PeerError: _peer_failed, HTTPException: _refused},
        lifespan=lifespan,
    )
    traced = OpenTelemetryMiddleware(app, excluded_urls="healthz,metrics", exclude_spans=["send", "receive"])
    uvicorn.run(
        traced,
        host=settings.text("HOST", "0.0.0.0"),
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        # Longer than any client keeps an idle connection, so that none is closed just as it is used again.
        timeout_keep_alive=60,
    )


class Observed:
    """Times every request under its route; an unexpected exception becomes a logged 500, one request too many a 429."""

    def __init__(self, app: ASGIApp, limit: RateLimit) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or scope["path"] in _UNSEEN:
            return await self.app(scope, receive, send)
        began, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                # The span ends with the last part of the answer, so this is the time to name it.
                span = trace.get_current_span()
                span.update_name(f"{scope['method']} {_route(scope)}")
                span.set_attribute("http.route", _route(scope))
            await send(message)

        try:
            if self.limit.take():
                await self.app(scope, receive, noting)
            else:
                LIMITED.inc()
                log.warning("refused %s %s: too many requests", scope["method"], scope["path"])
                await JSONResponse({"error": "too many requests, try again in a moment"}, 429)(scope, receive, noting)
        except Exception as error:
            log.exception("unhandled %s in %s %s", type(error).__name__, scope["method"], scope["path"])
            span = trace.get_current_span()
            span.record_exception(error)
            span.set_status(trace.StatusCode.ERROR, str(error))
            if status:
                raise
            await JSONResponse({"error": "something went wrong"}, 500)(scope, receive, noting)
        finally:
            SERVER_SECONDS.labels(scope["method"], _route(scope), str(status or 499)).observe(time.perf_counter() - began)


def _route(scope: Scope) -> str:
    """The route that matched: as few names as there are kinds of pages."""
    matched = scope.get("route")
    return matched.path if matched is not None else "unmatched"


async def _health(_: Request) -> Response:
    return PlainTextResponse("ok")


async def _metrics(_: Request) -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


async def _peer_failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, PeerError)
    return JSONResponse({"error": error.reason if error.status < 500 else "a part of the site does not answer"}, error.status)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)
