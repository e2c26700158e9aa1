"""Calls into a client library that would itself wait, or read, without end."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from revelio.tools.base import Limits

_LOOK_S = 0.05
_RECEIVED_AT = 128
"""Where Linux' ``tcp_info`` holds the number of bytes received."""

_OVERHEAD = 1_000_000
"""What a protocol may add to the bytes that are asked for."""

T = TypeVar("T")


class LateError(Exception):
    """The limit of time has passed."""


class TooMuchError(Exception):
    """More came than the limit of bytes or rows allows."""


class BoundedCalls:
    """One thread for one connection: who waits for it can stop waiting, and cut the connection. For one caller at a time."""

    def __init__(self, name: str, limits: Limits) -> None:
        """No thread runs yet."""
        self._limits = limits
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"ask-{name}")
        self._socket: socket.socket | None = None
        self.ended = False

    def call(self, work: Callable[[], T], deadline: float) -> T:
        """What ``work`` returns or raises; ``LateError`` after the deadline (of ``time.monotonic``), or ``TooMuchError``."""
        before, most = self._received(), 2 * self._limits.bytes + _OVERHEAD
        asked = self._pool.submit(work)
        while True:
            try:
                return asked.result(timeout=max(0.0, min(_LOOK_S, deadline - time.monotonic())))
            except TimeoutError:
                if asked.done():
                    raise  # the library's own
                if time.monotonic() >= deadline:
                    raise LateError from None
                if self._received() - before > most:
                    raise TooMuchError from None

    def uses(self, connection: socket.socket) -> None:
        """Which connection to keep an eye on, and to close in the end. For ``work`` to call once it has connected."""
        if self._socket is not None:
            self._socket.close()
        self._socket = connection
        if self.ended:
            self._cut()

    def end(self, close: Callable[[], object]) -> None:
        """Close the connection, whatever it is doing, and let the library ``close`` what it holds as soon as it notices."""
        self.ended = True
        self._cut()
        self._pool.submit(close)
        self._pool.shutdown(wait=False)

    def _cut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it may be closed already
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def _received(self) -> int:
        """Bytes received so far; 0 where the platform does not tell."""
        try:
            if self._socket is None:
                return 0
            told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + 8)
            return int(struct.unpack_from("=Q", told, _RECEIVED_AT)[0])
        except (OSError, AttributeError, struct.error):
            return 0
