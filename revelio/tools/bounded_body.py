"""The body of one HTTP answer, decompressed no further than its limit allows."""

from __future__ import annotations

import zlib

from revelio.tools.bounded_call import TooMuchError

ACCEPTED = "gzip"
"""What to name in ``Accept-Encoding``: nothing else is decompressed, and nothing is decompressed twice."""

_GZIP = zlib.MAX_WBITS | 16


class EncodingError(ValueError):
    """The body is compressed in a way that was not accepted, or damaged."""


class BoundedBody:
    """Collects the parts of a body, so that what comes out of them never takes more memory than the limit."""

    def __init__(self, encoding: str | None, most: int) -> None:
        """``encoding`` is the answer's ``Content-Encoding``, ``most`` the limit in bytes; ``EncodingError`` for a foreign one."""
        name = (encoding or "identity").strip().lower()
        if name not in ("identity", "gzip", "x-gzip"):
            raise EncodingError(f"answered in the encoding {name[:40]!r}, which was not asked for; is a proxy in between?")
        self._gzip = None if name == "identity" else zlib.decompressobj(_GZIP)
        self._most = most
        self._body = bytearray()

    def feed(self, part: bytes) -> None:
        """The next bytes as they came. ``TooMuchError`` beyond the limit, ``EncodingError`` where they are damaged."""
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

    def whole(self) -> bytes:
        """All of it; ``EncodingError`` where the compressed body has no end."""
        if self._gzip is not None and not self._gzip.eof:
            raise EncodingError("answered with a compressed body that ends in the middle")
        return bytes(self._body)
