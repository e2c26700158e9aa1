"""How a service is made and run: routes in, a Starlette application with tracing, metrics, health and errors out."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import uvicorn
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kit.logs import start_logs
from kit.peers import PeerError
from kit.settings import Settings, read_settings
from kit.telemetry import SERVER_SECONDS, start_telemetry

log = logging.getLogger(__name__)
Handler = Callable[[Request], Awaitable[Response]]


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
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=_observe)],
        exception_handlers={PeerError: _peer_failed, HTTPException: _refused},
        lifespan=lifespan,
    )
    traced = OpenTelemetryMiddleware(app, excluded_urls="healthz,metrics", exclude_spans=["send", "receive"])
    uvicorn.run(traced, host="0.0.0.0", port=settings.port, log_config=None, access_log=False, timeout_graceful_shutdown=2)


async def _observe(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Times every request under its route; an unexpected exception becomes a logged 500."""
    if request.url.path in ("/healthz", "/metrics"):
        return await call_next(request)
    began = time.perf_counter()
    try:
        response = await call_next(request)
    except Exception as error:
        log.exception("unhandled %s in %s %s", type(error).__name__, request.method, request.url.path)
        span = trace.get_current_span()
        span.record_exception(error)
        span.set_status(trace.StatusCode.ERROR, str(error))
        response = JSONResponse({"error": "something went wrong"}, status_code=500)
    matched = request.scope.get("route")
    route = matched.path if matched is not None else "unmatched"
    span = trace.get_current_span()
    span.update_name(f"{request.method} {route}")
    span.set_attribute("http.route", route)
    SERVER_SECONDS.labels(request.method, route, str(response.status_code)).observe(time.perf_counter() - began)
    return response


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
