"""Calls to other services: bounded pools, time-outs, bounded retries of reads, and a metric for every outcome."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import Any

import httpx
from opentelemetry import trace

from kit.settings import Settings
from kit.telemetry import CLIENT_SECONDS

log = logging.getLogger(__name__)


class PeerError(Exception):
    """Another service did not help. ``status`` is what to answer in turn."""

    def __init__(self, peer: str, status: int, reason: str) -> None:
        super().__init__(f"{peer}: {reason}")
        self.peer, self.status, self.reason = peer, status, reason


class Peer:
    """One other service."""

    def __init__(self, name: str, url: str, timeout: float = 2.0, connections: int = 20, retries: int = 0) -> None:
        self.name, self._retries = name, retries
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(timeout, pool=1.0), limits=limits)

    async def get(self, path: str, **params: str | int) -> Any:
        """GET as JSON; a lost connection is tried once more, any other failure as often as it was told to."""
        tries = 0
        while True:
            try:
                return await self._call("GET", path, params=params)
            except PeerError as error:
                allowed = max(1, self._retries) if error.reason == "connection" else self._retries
                if tries >= allowed or error.status < 500:
                    raise
                tries += 1
                log.warning("retrying GET %s at %s after: %s", path, self.name, error.reason)

    async def post(self, path: str, body: object) -> Any:
        """POST a JSON body; never repeated."""
        return await self._call("POST", path, json=body)

    async def put(self, path: str, body: object) -> Any:
        """PUT a JSON body."""
        return await self._call("PUT", path, json=body)

    async def delete(self, path: str) -> Any:
        """DELETE."""
        return await self._call("DELETE", path)

    async def open(self) -> None:
        """Connections are made when they are first needed."""

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _call(self, method: str, path: str, **options: Any) -> Any:
        began, status, kind = time.perf_counter(), "", ""
        try:
            # Whoever gives up earlier leaves the call to its own time-out: cancelled ones stay in httpcore's pool for ever.
            answer = await asyncio.shield(self._client.request(method, path, **options))
            status = str(answer.status_code)
        except httpx.PoolTimeout as error:
            kind = "pool"
            raise self._failed(503, kind, f"{method} {path}: no free connection") from error
        except httpx.TimeoutException as error:
            kind = "timeout"
            raise self._failed(504, kind, f"{method} {path}: no answer in time") from error
        except httpx.TransportError as error:
            kind = "connection"
            raise self._failed(502, kind, f"{method} {path}: {error or type(error).__name__}") from error
        finally:
            CLIENT_SECONDS.labels(self.name, status, kind).observe(time.perf_counter() - began)
        if answer.status_code >= 500:
            # A time-out further down stays a time-out for the user.
            given = 504 if answer.status_code == 504 else 502
            raise self._failed(given, "answer", f"{method} {path}: status {answer.status_code}")
        try:
            content = answer.json()
        except ValueError as error:
            raise self._failed(502, "answer", f"{method} {path}: the answer is not JSON") from error
        if answer.status_code >= 400:
            raise PeerError(self.name, answer.status_code, content.get("error", "refused"))
        return content

    def _failed(self, status: int, reason: str, text: str) -> PeerError:
        log.error("call to %s failed: %s", self.name, text, exc_info=sys.exc_info()[0] is not None)
        trace.get_current_span().set_status(trace.StatusCode.ERROR, f"{self.name}: {reason}")
        return PeerError(self.name, status, reason)


def peer(settings: Settings, name: str, timeout: float = 2.0, connections: int = 20) -> Peer:
    """The service of that name as its settings have it.

    ``CART_TIMEOUT_SECONDS``, else ``PEER_TIMEOUT_SECONDS``, overrides the time-out of one call; ``PEER_CONNECTIONS`` the pool;
    ``PEER_RETRIES`` says how often a read that failed is repeated, at once.
    """
    seconds = settings.number(f"{name.upper()}_TIMEOUT_SECONDS", settings.number("PEER_TIMEOUT_SECONDS", timeout))
    pool = max(1, int(settings.number("PEER_CONNECTIONS", connections)))
    return Peer(name, settings.peer(name), seconds, pool, int(settings.number("PEER_RETRIES", 0)))
