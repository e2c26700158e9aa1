"""What runs on this machine: containers and the ports that they publish, a Kubernetes context, servers at their usual ports."""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

DOCKER = "/var/run/docker.sock"

USUAL_PORTS: Mapping[str, tuple[int, ...]] = {
    "prometheus": (9090, 8428),
    "jaeger": (16686,),
    "elasticsearch": (9200,),
    "redis": (6379,),
    "postgres": (5432,),
    "mysql": (3306,),
    "loki": (3100,),
    "tempo": (3200,),
    "grafana": (3000,),
}
"""Ports by what usually listens there."""

_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine: its Compose projects by the number of containers, and the ports it publishes here by the one inside."""

    containers: int
    projects: Mapping[str, int]
    published: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def engine(path: str = DOCKER) -> Engine | None:
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
        return Engine(len(listed), dict(projects), published)
    except (httpx.HTTPError, ValueError, TypeError, AttributeError, KeyError):
        return None


def addresses(tool: str, there: Engine | None) -> tuple[str, ...]:
    """Where a server of this kind may listen on this machine, as ``host:port``."""
    ports = list(USUAL_PORTS[tool])
    for usual in USUAL_PORTS[tool]:
        ports += there.published.get(usual, ()) if there else ()
    return tuple(f"127.0.0.1:{port}" for port in dict.fromkeys(ports) if _listens(port))


def redis_answers(address: str) -> bool:
    """Whether a Redis without a password listens there."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), _TIMEOUT_S) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def kubernetes_context() -> str:
    """The name of the context that kubectl would use; "" where there is none."""
    path = Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or Path.home() / ".kube" / "config")
    try:
        found = re.search(r"^current-context:\s*\"?([^\s\"]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""


def grafana_sources(url: str) -> dict[str, str] | None:
    """The uid of each kind of data source of a Grafana; empty where it wants a login first, None where none answers."""
    try:
        with httpx.Client(timeout=_TIMEOUT_S) as client:
            if "database" not in client.get(f"{url}/api/health").raise_for_status().json():
                return None
            answer = client.get(f"{url}/api/datasources")
            listed = answer.json() if answer.status_code == 200 else []
        return {str(one["type"]): str(one["uid"]) for one in reversed(listed)}
    except (httpx.HTTPError, ValueError, TypeError, KeyError):
        return None


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.3):
            return True
    except OSError:
        return False
