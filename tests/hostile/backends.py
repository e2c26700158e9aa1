"""Backends that lie: one port on loopback for each kind of lie, whatever protocol is spoken to it.

``with lying_backends() as ports`` gives the port of every kind. ``WIRE`` lies about the protocol, ``JSON`` about its content.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from tests.hostile.polite import answer_to
from tests.hostile.untrue import JSON

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Elastic-Product: Elasticsearch\r\n"
BODY = HEAD + b"Content-Length: 1000000000\r\n\r\n"
MOST_S = 8.0
"""How long a lie goes on."""

Lie = Callable[[socket.socket, bytes, threading.Event], None]


def hang(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
    """Say nothing."""
    stop.wait(MOST_S)


def say(answer: bytes) -> Lie:
    """Say this and hang up."""
    return lambda connection, asked, stop: connection.sendall(answer)


def drip(start: bytes, letter: bytes = b"x") -> Lie:
    """Say this, and then a letter now and then."""

    def lie(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
        connection.sendall(start)
        for _ in range(int(MOST_S / 0.05)):
            if stop.wait(0.05):
                return
            connection.sendall(letter)

    return lie


def flood(start: bytes, with_what: bytes, most: int = 2_000_000_000) -> Lie:
    """Say this, and then this without end."""

    def lie(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
        connection.sendall(start)
        much = with_what * max(1, 65536 // len(with_what))
        for _ in range(most // len(much)):
            if stop.is_set():
                return
            connection.sendall(much)

    return lie


def reset(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
    """Half an answer, then a reset."""
    connection.sendall(BODY + b'{"data": [')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def framed(body: bytes, headers: bytes = b"", status: bytes = b"200 OK") -> bytes:
    """An HTTP answer with this body."""
    head = HEAD.replace(b"200 OK", status) + headers
    return head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


def _bomb(times: int) -> bytes:
    import gzip

    packed = b" " * 50_000_000
    for _ in range(times):
        packed = gzip.compress(packed, 9)
    return packed


def zipped(times: int) -> Lie:
    """50 MB of blanks, packed so often."""
    made: list[bytes] = []

    def lie(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
        if not made:
            made.append(_bomb(times))
        encoding = b", ".join([b"gzip"] * times)
        connection.sendall(framed(made[0], b"Content-Encoding: " + encoding + b"\r\n"))

    return lie


def redirect(location: bytes) -> Lie:
    """Send whoever asks elsewhere."""
    return say(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")


WIRE: Mapping[str, Lie] = {
    "hangs": hang,
    "hangs-up": say(b""),
    "drips-head": drip(HEAD + b"X-Long: "),
    "drips-body": drip(BODY, b" "),
    "drips-chunks": drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "floods-head": flood(HEAD, b"X-More: 1\r\n"),
    "floods-line": flood(HEAD + b"X-More: ", b"x"),
    "floods-body": flood(BODY, b" "),
    "floods-chunks": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n     \r\n"),
    "floods-continue": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 50_000_000),
    "resets": reset,
    "half-body": say(BODY + b'{"data": ['),
    "wrong-length": say(HEAD + b'Content-Length: 12\r\n\r\n{"data": 1}\n'),
    "two-lengths": say(HEAD + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}"),
    "negative-length": say(HEAD + b"Content-Length: -5\r\n\r\n{}"),
    "bad-chunk": say(HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"),
    "no-status": say(b"HTTP/1.1 \r\n\r\n"),
    "old-http": say(b"{}"),
    "http2": say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    "tls": say(b"\x15\x03\x01\x00\x02\x02\x28"),
    "mail": say(b"\x00\xff\x13\x37 220 mail.example ESMTP\r\n"),
    "nul-header": say(b"HTTP/1.1 200 OK\r\nX\x00: \x00\r\n\r\n{}"),
    "redirects-home": redirect(b"/"),
    "redirects-away": redirect(b"http://192.0.2.7/latest/meta-data/"),
    "redirects-file": redirect(b"file:///etc/passwd"),
    "no-content": say(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "asks-password": say(framed(b"{}", b'WWW-Authenticate: Basic realm="x"\r\n', b"401 Unauthorized")),
    "too-many": say(framed(b"{}", b"Retry-After: 999999999\r\n", b"429 Too Many Requests")),
    "error-html": say(framed(b"<html><h1>502</h1>", b"", b"502 Bad Gateway")),
    "zipped-once": zipped(1),
    "zipped-twice": zipped(2),
    "not-zipped": say(framed(b"{}", b"Content-Encoding: gzip\r\n")),
    "redis-flood": flood(b"*1000000000\r\n", b"$5\r\nhello\r\n", 400_000_000),
    "redis-huge": say(b"$999999999999\r\n" + b"x" * 1000),
    "redis-deep": say(b"*1\r\n" * 100_000),
    "redis-error": say(b"-ERR \x1b[31m<script>alert(1)</script>\r\n" * 50),
    "postgres-odd": say(b"R\x00\x00\x00\x08\x00\x00\x00\x63"),
    "postgres-notices": flood(b"R\x00\x00\x00\x08\x00\x00\x00\x00", b"N\x00\x00\x00\x09SWARN\x00", 100_000_000),
    "postgres-length": say(b"R\xff\xff\xff\xff"),
}


def _content(changed: Callable[[bytes, str], bytes]) -> Lie:
    """A polite backend, but for what it says."""

    def lie(connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
        path = asked.split(b" ", 2)[1].decode("latin-1") if asked.count(b" ") > 1 else ""
        connection.sendall(framed(changed(json.dumps(answer_to(path)).encode(), path)))

    return lie


KINDS: Mapping[str, Lie] = {**WIRE, **{name: _content(changed) for name, changed in JSON.items()}}


def _serve(connection: socket.socket, lie: Lie, stop: threading.Event) -> None:
    with connection, suppress(OSError):
        connection.settimeout(MOST_S)
        lie(connection, connection.recv(65536), stop)


def _accept(listener: socket.socket, lie: Lie, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, lie, stop), daemon=True).start()


@contextmanager
def lying_backends(kinds: Mapping[str, Lie] = KINDS) -> Iterator[dict[str, int]]:
    """The port of every kind, until the block ends."""
    stop = threading.Event()
    listeners = {name: socket.create_server(("127.0.0.1", 0), backlog=256) for name in kinds}
    for name, listener in listeners.items():
        threading.Thread(target=_accept, args=(listener, kinds[name], stop), daemon=True).start()
    try:
        yield {name: int(listener.getsockname()[1]) for name, listener in listeners.items()}
    finally:
        stop.set()
        for listener in listeners.values():
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


def addresses(port: int, secret: str = "x") -> dict[str, str]:
    """The address of this port as each tool writes one, with a password where it takes one."""
    return {
        "prometheus": f"http://observer:{secret}@127.0.0.1:{port}",
        "jaeger": f"http://observer:{secret}@127.0.0.1:{port}",
        "elasticsearch": f"http://observer:{secret}@127.0.0.1:{port}",
        "loki": f"http://observer:{secret}@127.0.0.1:{port}",
        "tempo": f"http://observer:{secret}@127.0.0.1:{port}",
        "kubernetes": f"http://observer:{secret}@127.0.0.1:{port}",
        "containers": f"tcp://127.0.0.1:{port}",
        "postgres": f"postgresql://observer:{secret}@127.0.0.1:{port}/shop",
        "redis": f"redis://:{secret}@127.0.0.1:{port}/0",
    }


def settings_of(ports: Mapping[str, int], secret: str = "x") -> str:
    """The part of revelio.toml that names each kind as a system of its own."""
    lines = []
    for name, port in ports.items():
        lines.append(f'[systems."{name}"]\nproject = "{name}"')
        lines += [
            f'[systems."{name}".backends.{tool}]\nurl = "{url}"\nlink = "{url}"'
            if url.startswith("http")
            else f'[systems."{name}".backends.{tool}]\nurl = "{url}"'
            for tool, url in addresses(port, secret).items()
        ]
    return "\n".join(lines) + "\n"
