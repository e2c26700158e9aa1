"""What runs on this machine: containers and the ports that they publish, servers at their usual ports, a Grafana."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from revelio.support.deadline import end

DOCKER = "/var/run/docker.sock"
GRAFANA_PORTS = (3000,)

_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class ComposeEngine:
    """A container engine: its Compose projects by the number of containers, and the ports it publishes here by the one inside."""

    containers: int
    projects: Mapping[str, int]
    published: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def engine(path: str = DOCKER) -> ComposeEngine | None:
    """The engine at a socket; None where none answers."""
    if not Path(path).exists():
        return None
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=path), timeout=_TIMEOUT_S) as client:
            listed: list[dict[str, Any]] = client.get("http://docker/containers/json").raise_for_status().json()
        projects = Counter(p for c in listed if (p := (c.get("Labels") or {}).get("com.docker.compose.project")))
        ports = [p for c in listed for p in c.get("Ports") or () if p.get("PublicPort") and p.get("Type") == "tcp"]
        inside = {int(p["PrivatePort"]) for p in ports}
        published = {i: tuple(sorted({int(p["PublicPort"]) for p in ports if int(p["PrivatePort"]) == i})) for i in inside}
        return ComposeEngine(len(listed), dict(projects), published)
    except (httpx.HTTPError, ValueError, TypeError, AttributeError, KeyError):
        return None


def addresses(ports: Iterable[int], there: ComposeEngine | None) -> tuple[str, ...]:
    """Where a server with these usual ports listens here, as ``host:port``: on one, or where a container publishes it."""
    usual = tuple(ports)
    published = (port for inside in usual for port in (there.published.get(inside, ()) if there else ()))
    return tuple(f"127.0.0.1:{port}" for port in dict.fromkeys([*usual, *published]) if listens(port))


def is_here(host: str) -> bool:
    """Whether a host name or address means this machine: only its own addresses can be bound."""
    try:
        with socket.create_server((socket.gethostbyname(host), 0)):
            return True
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data source of a Grafana."""

    kind: str
    uid: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Grafana:
    """A Grafana and its data sources; ``told`` is false where it wants a login before it tells of them."""

    url: str
    told: bool
    sources: tuple[DataSource, ...] = ()

    def of(self, kinds: Iterable[str]) -> tuple[DataSource, ...]:
        """Its data sources of these kinds."""
        wanted = frozenset(kinds)
        return tuple(source for source in self.sources if source.kind in wanted)


def grafana(url: str) -> Grafana | None:
    """The Grafana at an address; None where none answers."""
    try:
        encrypted = url.startswith("https:")  # reading the public authorities' file takes 30 ms
        with httpx.Client(timeout=max(0.05, end(_TIMEOUT_S) - time.monotonic()), verify=encrypted) as client:
            if "database" not in client.get(f"{url}/api/health").raise_for_status().json():
                return None
            answer = client.get(f"{url}/api/datasources")
            listed = answer.json() if answer.status_code == 200 else []
        found = (DataSource(str(s["type"]), str(s["uid"]), str(s.get("name", "")), str(s.get("url") or "")) for s in listed)
        return Grafana(url, answer.status_code == 200, tuple(found))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, KeyError, AttributeError):
        return None


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something listens at a port."""
    try:
        with socket.create_connection((host, port), 0.3):
            return True
    except OSError:
        return False
