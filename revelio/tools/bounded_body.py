"""The body of one HTTP answer, decompressed no further than its limit allows."""

from __future__ import annotations

import threading
import time
import zlib
from types import TracebackType
from typing import Self

from revelio.support.deadline import end
from revelio.tools.bounded_call import LateError, TooMuchError

ACCEPTED = "gzip"
"""What to name in ``Accept-Encoding``: nothing else is decompressed, and nothing is decompressed twice."""

LARGE, LARGE_AT_ONCE = 256_000, 4
"""Bytes from which a body counts as large, and how many such the process holds at a time, until they are parsed."""

_large = threading.BoundedSemaphore(LARGE_AT_ONCE)
_GZIP = zlib.MAX_WBITS | 16


class EncodingError(ValueError):
    """The body is compressed in a way that was not accepted, or damaged."""


class BoundedBody:
    """Collects the parts of a body, so that what comes out of them never takes more memory than the limit.

    Its block lasts until the body is parsed: few large ones are held at a time, whatever number of questions is in progress.
    """

    def __init__(self, encoding: str | None, most: int, seconds: float) -> None:
        """``encoding`` is the answer's ``Content-Encoding``, ``most`` the limit in bytes; ``EncodingError`` for a foreign one.

        ``seconds`` is the longest wait for a turn to be large.
        """
        name = (encoding or "identity").strip().lower()
        if name not in ("identity", "gzip", "x-gzip"):
            raise EncodingError(f"answered in the encoding {name[:40]!r}, which was not asked for; is a proxy in between?")
        self._gzip = None if name == "identity" else zlib.decompressobj(_GZIP)
        self._most = most
        self._body = bytearray()
        self._until = end(seconds)
        self._counts = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._body = bytearray()
        if self._counts:
            self._counts = False
            _large.release()

    def feed(self, part: bytes) -> None:
        """The next bytes as they came.

        ``TooMuchError`` beyond the limit, ``EncodingError`` where they are damaged, ``LateError`` when no turn comes in time.
        """
        if self._gzip is None:
            self._body += part
        elif part:
            try:
                self._body += self._gzip.decompress(part, self._most + 1 - len(self._body))
            except zlib.error as error:
                raise EncodingError("answered in a damaged compression") from error
            if self._gzip.unused_data:
                raise EncodingError("answered with more behind the end of its compressed body")
        if len(self._body) > self._most or (self._gzip is not None and self._gzip.unconsumed_tail):
            raise TooMuchError
        if not self._counts and len(self._body) > LARGE:
            if not _large.acquire(timeout=max(0.0, self._until - time.monotonic())):
                raise LateError
            self._counts = True

    def whole(self) -> bytes:
        """All of it; ``EncodingError`` where the compressed body has no end."""
        if self._gzip is not None and not self._gzip.eof:
            raise EncodingError("answered with a compressed body that ends in the middle")
        return bytes(self._body)
