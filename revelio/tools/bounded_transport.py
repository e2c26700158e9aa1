"""HTTP connections on which no step, down to a single byte of an answer's head, waits longer than until a deadline."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx


class BoundedTransport(httpx.HTTPTransport):
    """httpx' own transport over such connections."""

    def __init__(self, verify: bool | ssl.SSLContext, proxy: str = "") -> None:
        """``verify`` is how to check a certificate: reading the public authorities' file, for True, takes 30 ms."""
        super().__init__(verify=verify, trust_env=False)
        self._backend = _Backend()
        self._pool.close()
        context = httpx.create_ssl_context(verify=verify, trust_env=False)
        if proxy:
            way = httpx.Proxy(proxy)
            self._pool = httpcore.HTTPProxy(
                str(way.url), way.raw_auth, ssl_context=context, network_backend=self._backend, max_connections=20
            )
        else:
            self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=self._backend, max_connections=20)

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """All that this thread asks in the block has to be over at that moment of ``time.monotonic``."""
        self._backend.due.deadline = deadline
        try:
            yield
        finally:
            self._backend.due.deadline = None


class _Due(threading.local):
    deadline: float | None = None

    def left(self, timeout: float | None, late: type[Exception]) -> float | None:
        if self.deadline is None:
            return timeout
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise late("the time is up")
        return left if timeout is None else min(timeout, left)


class _Backend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self.due = _Due()
        self._real = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = self.due.left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._real.connect_tcp(host, port, left, local_address, socket_options), self.due)


class _Stream(httpcore.NetworkStream):
    def __init__(self, real: httpcore.NetworkStream, due: _Due) -> None:
        self._real = real
        self._due = due

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._real.read(max_bytes, self._due.left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._real.write(buffer, self._due.left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._real.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._due.left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._real.start_tls(ssl_context, server_hostname, left), self._due)

    def get_extra_info(self, info: str) -> Any:
        return self._real.get_extra_info(info)
