"""A server on loopback that behaves ill towards every connection, without end."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Elastic-Product: Elasticsearch\r\n"
BODY = HEAD + b"Content-Length: 1000000000\r\n\r\n"
_PAUSE_S = 0.01

Behaviour = Callable[[socket.socket, threading.Event], None]


def hang(connection: socket.socket, stop: threading.Event) -> None:
    """Take the request and say nothing."""
    stop.wait(30.0)


def drip(start: bytes) -> Behaviour:
    """Say this, and then a letter now and then."""

    def behave(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(start)
        while not stop.wait(_PAUSE_S):
            connection.sendall(b"x")

    return behave


def flood(start: bytes, with_what: bytes) -> Behaviour:
    """Say this, and then this without end."""

    def behave(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(start)
        much = with_what * (65536 // len(with_what))
        while not stop.is_set():
            connection.sendall(much)

    return behave


def say(answer: bytes) -> Behaviour:
    """Say this and hang up."""
    return lambda connection, stop: connection.sendall(answer)


@cache
def bomb(times: int) -> bytes:
    """Blanks, 100 MB of them, compressed so many times."""
    small = b""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for _ in range(100):
        small += packer.compress(b" " * 1_000_000)
    small += packer.flush()
    for _ in range(times - 1):
        small = gzip.compress(small)
    return small


def compressed(encoding: str, times: int = 1) -> Behaviour:
    """Answer with the bomb under the name of an encoding, whether it is one or not."""

    def behave(connection: socket.socket, stop: threading.Event) -> None:
        body = bomb(times)
        head = HEAD + f"Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body)

    return behave


def chunked(body: bytes) -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body


DEEP = b"[" * 100_000

BOMBS: dict[str, Behaviour] = {
    "compresses": compressed("gzip"),
    "compresses twice": compressed("gzip, gzip", 2),
    **{f"says {name}": compressed(name) for name in ("deflate", "br", "zstd", "x", "gzip, identity")},
    "floods the length of a chunk": flood(chunked(b""), b"0"),
    "floods in chunks": flood(chunked(b""), b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "floods Redis lines": flood(b"+OK\r\n", b"+OK\r\n"),
    "floods one Redis line": flood(b"+", b"O"),
    "floods a Redis text": flood(b"$1000000000\r\n", b"x"),
    "floods a PostgreSQL notice": flood(b"R\x00\x00\x00\x08\x00\x00\x00\x00N\x3f\xff\xff\xff", b"x"),
    "floods PostgreSQL parameters": flood(b"R\x00\x00\x00\x08\x00\x00\x00\x00", b"S\x00\x00\x00\x0capp\x00abc\x00"),
}
"""Answers that would take hundreds of megabytes."""

BEHAVIOURS: dict[str, Behaviour] = {
    "hangs": hang,
    "drips its head": drip(HEAD + b"X-Long: "),
    "drips its answer": drip(BODY),
    "floods its head": flood(HEAD, b"X-More: 1\r\n"),
    "floods its answer": flood(BODY, b" "),
    "hangs up": say(b""),
    "hangs up in the middle": say(BODY + b'{"data": ['),
    "lies": say(HEAD + b'Content-Length: 12\r\n\r\n{"data": 1}\n'),
    "nests": say(HEAD + f"Content-Length: {len(DEEP)}\r\n\r\n".encode() + DEEP),
    "refuses oddly": say(HEAD.replace(b"200 OK", b"400 No") + b'Content-Length: 30\r\n\r\n{"error":{"root_cause":["x"]}}'),
    "speaks another language": say(b"\x00\xff\x13\x37 220 mail.example ESMTP\r\n"),
}


@contextmanager
def ill_server(behave: Behaviour) -> Iterator[str]:
    """Its ``host:port``. Every connection is served until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            behave(connection, stop)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(5.0)
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (accepting, *threads):
            thread.join(timeout=6.0)
