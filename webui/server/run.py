"""Serves an application until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import socket
import sys
from collections.abc import Callable, Sequence

import uvicorn
from fastapi import FastAPI

from webui.server.connections import BoundedProtocol
from webui.server.log_limits import limit_logs

DRAIN_S = 10
"""How long requests that were begun may take after SIGTERM."""
_ARENA_MAX = -8
"""glibc's name for the number of its heaps."""

_AT_ONCE = 128
"""How many connections asyncio accepts before it looks at the first: others wait in the kernel, and take no descriptor."""
_LAST_CALL_S = 0.2
"""How long requests that are on their way may take to arrive after it."""


class Server(uvicorn.Server):
    """Ends in the order that loses nothing: takes what is on its way, answers what it took, then ``at_end``."""

    def __init__(self, config: uvicorn.Config, at_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._at_end = at_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """After the first signal."""
        await asyncio.sleep(_LAST_CALL_S)
        await super().shutdown(sockets)
        self._at_end()  # here, for what ends the process ends it right after this


def server(app: FastAPI, *, trusted_proxies: Sequence[str] = (), at_end: Callable[[], None] = lambda: None) -> Server:
    """A server that is not running yet. Only ``trusted_proxies`` are believed about whom they forward for."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        log_level="warning",
        log_config=None,
        access_log=False,
        backlog=_AT_ONCE,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=DRAIN_S,
    )
    return Server(config, at_end)


def _share_heaps() -> None:
    """Let all threads share two heaps: each keeps what it once held, and glibc would make eight for each processor."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def serve(app: FastAPI, listening: socket.socket, *, trusted_proxies: Sequence[str], at_end: Callable[[], None]) -> None:
    """Serve on a socket until SIGTERM or Ctrl-C."""
    limit_logs()
    _share_heaps()
    server(app, trusted_proxies=trusted_proxies, at_end=at_end).run(sockets=[listening])
