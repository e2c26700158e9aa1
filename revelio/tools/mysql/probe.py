"""How MySQL and MariaDB are found: by their greeting. Their client library need not be installed."""

from __future__ import annotations

import socket
from functools import partial
from urllib.parse import urlsplit

from revelio.errors import SourceError
from revelio.tools.probe import TIMEOUT_S, Probe, ProbeResult

_TITLES = {"mysql": "MySQL", "mariadb": "MariaDB"}
_VERSION_10 = 10
"""The protocol's version, with which a greeting begins behind its head of four bytes."""


def _look(product: str, url: str) -> ProbeResult:
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname, place.port or 3306), TIMEOUT_S) as connection:
            connection.settimeout(TIMEOUT_S)
            greeting = connection.recv(128)
    except OSError as error:
        raise SourceError(product, f"nothing answers at {place.hostname}: {error}") from error
    version = greeting[5:].partition(b"\x00")[0].decode("ascii", errors="replace")
    is_it = len(greeting) > 5 and greeting[4] == _VERSION_10 and version[:1].isdecimal()
    if not is_it or ("mariadb" in version.lower()) != (product == "mariadb"):
        raise SourceError(product, f"{place.hostname} does not answer like {_TITLES[product]}; is its url right?")
    return ProbeResult(f"{_TITLES[product]}: put in a user that may see all sessions (GRANT PROCESS ON *.*)", False)


PROBES = {name: Probe((3306,), f"{name}://USER:PASSWORD@{{}}", look=partial(_look, name)) for name in _TITLES}
