"""How Redis is found: by the way it answers PING. Its client library need not be installed."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from revelio.errors import SourceError
from revelio.tools.probe import TIMEOUT_S, Probe, ProbeResult


def _look(url: str) -> ProbeResult:
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname, place.port or 6379), TIMEOUT_S) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendall(b"PING\r\n")
            said = connection.recv(64)
    except OSError as error:
        raise SourceError("redis", f"nothing answers at {url}: {error}") from error
    if said.startswith((b"-NOAUTH", b"-ERR operation not permitted")):
        return ProbeResult("Redis that wants a password: put it in as redis://:PASSWORD@HOST:PORT/0", False)
    if not said.startswith(b"+PONG"):
        raise SourceError("redis", f"{url} does not answer like Redis; is its url right?")
    return ProbeResult("Redis")


PROBES = {"redis": Probe((6379,), "redis://{}/0", look=_look)}
