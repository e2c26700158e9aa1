"""Lets the official Elasticsearch client read no more, and wait no longer, than the limits allow."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any

from elastic_transport import NodeConfig, Urllib3HttpNode
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

from revelio.deadline import end
from revelio.tools.base import Limits
from revelio.tools.bounded_body import BoundedBody, EncodingError
from revelio.tools.bounded_call import LateError, TooMuchError

LIMITS = "limits"
"""Name under which a node's configuration carries its limits."""


class UnreadableError(HTTPError):
    """The answer is larger than the limit, or compressed in a way that was not asked for."""


@dataclass(frozen=True, slots=True)
class _Whole:
    status: int
    headers: Any
    data: bytes


class _BoundedPool:
    """A connection pool whose answers are read whole, within limits."""

    def __init__(self, pool: HTTPConnectionPool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    def urlopen(self, method: str, target: str, **options: Any) -> _Whole:
        deadline = end(self._limits.seconds)
        response = self._pool.urlopen(method, target, preload_content=False, **options)
        try:
            data = self._read(response, target, deadline)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return _Whole(response.status, response.headers, data)

    def close(self) -> None:
        self._pool.close()

    def _read(self, response: BaseHTTPResponse, target: str, deadline: float) -> bytes:
        try:
            encoding = response.headers.get("content-encoding")
            with BoundedBody(encoding, self._limits.bytes, self._limits.seconds) as body:
                while chunk := response.read1(65536, decode_content=False):
                    body.feed(chunk)
                    if time.monotonic() > deadline:
                        raise ReadTimeoutError(self._pool, target, "still answering")
                return body.whole()
        except LateError as error:
            raise ReadTimeoutError(self._pool, target, "too many large answers at a time") from error
        except TooMuchError as error:
            words = f"answered with more than {self._limits.bytes / 1e6:g} MB; narrow the window or the query"
            raise UnreadableError(words) from error
        except EncodingError as error:
            raise UnreadableError(str(error)) from error


class _Cut:
    """A connection that is cut when the head of an answer has not come in time, even if it arrives byte by byte."""

    limits = Limits()
    sock: socket.socket | None

    def getresponse(self) -> Any:
        late = threading.Event()

        def cut() -> None:
            late.set()
            if self.sock is not None:
                with contextlib.suppress(OSError):  # it may be closed already
                    self.sock.shutdown(socket.SHUT_RDWR)

        watch = threading.Timer(self.limits.seconds, cut)
        watch.daemon = True
        watch.start()
        try:
            response = super().getresponse()  # type: ignore[misc]
        except (OSError, http.client.HTTPException) as error:
            if late.is_set():
                raise TimeoutError("timed out") from error
            raise
        finally:
            watch.cancel()
        if late.is_set():
            response.close()
            raise TimeoutError("timed out")
        return response


class BoundedNode(Urllib3HttpNode):
    """A node of the official client that keeps to the limits in its configuration."""

    def __init__(self, config: NodeConfig) -> None:
        """``config._extras`` holds a ``Limits`` under ``LIMITS``."""
        super().__init__(config)
        limits = config._extras[LIMITS]
        self.pool.ConnectionCls = type("Bounded", (_Cut, self.pool.ConnectionCls), {"limits": limits})
        self.pool: Any = _BoundedPool(self.pool, limits)
