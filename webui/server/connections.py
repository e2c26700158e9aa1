"""HTTP/1.1 connections that a slow or silent client cannot hold: uvicorn has no such limits."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

RECEIVE_S = 20.0
"""How long a request, headers and body, may take to arrive, counted from the connection or from its first byte."""
SEND_S = 30.0
"""How long a client may refuse to read any more of its answer."""
MOST_CONNECTIONS = 512
_UNTOUCHED = 0.5
"""Share of the process's descriptors that connections may take; the rest is for files and backends."""


def most_connections() -> int:
    """How many connections this process holds at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(8, min(MOST_CONNECTIONS, int(soft * _UNTOUCHED)))


class BoundedProtocol(H11Protocol):
    """One connection.

    A request that has not arrived whole by its deadline ends the connection. Where there are too many, the one that has waited
    longest for the rest of its request makes room; where none waits, the new one is refused with 503.
    """

    _receiving: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, if there is room or room can be made."""
        super().connection_made(transport)
        waiting: dict[BoundedProtocol, None] = self._waiting()
        if len(self.connections) > most_connections():
            oldest = next(iter(waiting), None)
            if oldest is None:
                transport.write(
                    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                transport.close()
                log.warning("a connection was refused: %d requests are being answered", len(self.connections))
                return
            oldest.cut("others need its place")
        self._expect()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        super().data_received(data)
        if self.transport.is_closing() or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._arrived()
        elif self._receiving is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._arrived()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        super().pause_writing()
        self._sending = self._sending or self.loop.call_later(SEND_S, self.cut, "it does not read its answer")

    def resume_writing(self) -> None:
        """It reads again."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        super().resume_writing()

    def shutdown(self) -> None:
        """End it now, unless a whole request is being answered."""
        if self.cycle is not None and self._receiving is not None:
            self.transport.abort()
        else:
            super().shutdown()

    def cut(self, why: str) -> None:
        """End it, whatever it is doing."""
        log.warning("a connection was cut: %s", why)
        self._arrived()
        self.transport.abort()

    def _expect(self) -> None:
        self._receiving = self.loop.call_later(RECEIVE_S, self.cut, f"no whole request within {RECEIVE_S:g} s")
        self._waiting()[self] = None

    def _arrived(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None
        self._waiting().pop(self, None)

    def _waiting(self) -> dict[Any, None]:
        """The connections of this server whose requests have not arrived whole, the longest first."""
        waiting: dict[Any, None] = self.server_state.__dict__.setdefault("revelio_waiting", {})
        return waiting
