"""Calls into a client library that would itself wait, or read, without end."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_RECEIVED_AT = 128
"""Where Linux' ``tcp_info`` holds the number of bytes received."""

OVERHEAD = 1_000_000
"""What a protocol may add to the bytes that are asked for."""

T = TypeVar("T")


class LateError(Exception):
    """The limit of time has passed."""


class TooMuchError(Exception):
    """More came than the limit of bytes or rows allows."""


class BoundedCalls:
    """One thread for one connection: who waits for it can stop waiting, and cut the connection. For one caller at a time."""

    def __init__(self, name: str) -> None:
        """No thread runs yet."""
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"ask-{name}")
        self._socket: socket.socket | None = None
        self.ended = False

    def call(self, work: Callable[[], T], deadline: float) -> T:
        """What ``work`` returns or raises; ``LateError`` after the deadline (of ``time.monotonic``)."""
        asked = self._pool.submit(work)
        try:
            return asked.result(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if asked.done():
                raise  # the library's own
            raise LateError from None

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


def received(descriptor: int) -> int:
    """Bytes that a TCP connection has received so far; 0 where the platform does not tell, or it is another kind."""
    looked = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=descriptor)
    try:
        told = looked.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + 8)
        return int(struct.unpack_from("=Q", told, _RECEIVED_AT)[0])
    except (OSError, AttributeError, struct.error):
        return 0
    finally:
        looked.detach()
