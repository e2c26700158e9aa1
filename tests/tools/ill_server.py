"""A server on loopback that behaves ill towards every connection, without end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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


BEHAVIOURS: dict[str, Behaviour] = {
    "hangs": hang,
    "drips its head": drip(HEAD + b"X-Long: "),
    "drips its answer": drip(BODY),
    "floods its head": flood(HEAD, b"X-More: 1\r\n"),
    "floods its answer": flood(BODY, b" "),
    "hangs up": say(b""),
    "hangs up in the middle": say(BODY + b'{"data": ['),
    "lies": say(HEAD + b'Content-Length: 12\r\n\r\n{"data": 1}\n'),
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
