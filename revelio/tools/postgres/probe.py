"""How PostgreSQL is found: by its answer to the question for TLS. Its client library need not be installed."""

from __future__ import annotations

import socket
import struct
from urllib.parse import urlsplit

from revelio.errors import SourceError
from revelio.tools.probe import TIMEOUT_S, Probe, ProbeResult

_TLS = struct.pack("!II", 8, 80877103)
"""SSLRequest of PostgreSQL's protocol: a server says S or N, and logs nothing."""


def _look(url: str) -> ProbeResult:
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname, place.port or 5432), TIMEOUT_S) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendall(_TLS)
            said = connection.recv(1)
    except OSError as error:
        raise SourceError("postgres", f"nothing answers at {place.hostname}: {error}") from error
    if said not in (b"S", b"N"):
        raise SourceError("postgres", f"{place.hostname} does not answer like PostgreSQL; is its url right?")
    return ProbeResult("PostgreSQL: put in a user that may read pg_stat_activity (role pg_monitor)", False)


PROBES = {"postgres": Probe((5432,), "postgresql://USER:PASSWORD@{}/DATABASE", look=_look)}
