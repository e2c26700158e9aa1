"""What answers at an address, and which project it watches; what else runs on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from revelio.discovery.machine import DOCKER, Engine, addresses, grafana_sources, kubernetes_context, redis_answers

WELL_KNOWN = {"prometheus": "http://127.0.0.1:9090", "jaeger": "http://127.0.0.1:16686", "elasticsearch": "http://127.0.0.1:9200"}
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A backend, or why there is none. ``projects`` counts how often it names each project."""

    tool: str
    url: str
    up: bool
    detail: str
    projects: Mapping[str, int] = field(default_factory=dict)
    services: tuple[str, ...] = ()


def look_for(tool: str, given: str | None, there: Engine | None) -> Found:
    """The backend at the address that was given, else at the first usual or published port where one answers."""
    if given:
        return discover(tool, given)
    usual = WELL_KNOWN[tool]
    elsewhere = [f"http://{address}" for address in addresses(tool, there)] if usual.startswith("http://127.0.0.1:") else []
    looked = [discover(tool, url) for url in dict.fromkeys([usual, *elsewhere])]
    return next((found for found in looked if found.up), looked[0])


def others(there: Engine | None) -> list[Found]:
    """What else runs here: what a tool can read at once is ``up``; of the rest the detail says what to put in."""
    found = []
    if there is not None:
        found.append(Found("containers", f"unix://{DOCKER}", True, f"Docker, {there.containers} containers", there.projects))
    for address in addresses("redis", there)[:1]:
        up = redis_answers(address)
        told = "Redis" if up else "Redis that wants a password: put it in as redis://:PASSWORD@HOST:PORT/0"
        found.append(Found("redis", f"redis://{address}/0", up, told))
    for address in addresses("postgres", there)[:1]:
        told = "PostgreSQL: put in a user that may read pg_stat_activity (role pg_monitor)"
        found.append(Found("postgres", f"postgresql://USER:PASSWORD@{address}/DATABASE", False, told))
    return found


def unread(there: Engine | None) -> list[str]:
    """Sentences on what runs here and no tool reads yet."""
    names = {"mysql": "MySQL or MariaDB", "loki": "Loki", "tempo": "Tempo"}
    told = []
    for kind, title in names.items():
        told += [f"{title} at {at}: no tool reads it; its exporter's metrics are read" for at in addresses(kind, there)]
    context = kubernetes_context()
    return told + ([f"Kubernetes context {context}: read through Prometheus (kube-state-metrics, cAdvisor)"] if context else [])


def grafana(there: Engine | None) -> tuple[str, str]:
    """The address of a Grafana here and the uid of its Prometheus data source; "" for what is not there."""
    for address in addresses("grafana", there):
        sources = grafana_sources(f"http://{address}")
        if sources is not None:
            return f"http://{address}", sources.get("prometheus", "")
    return "", ""


def discover(tool: str, url: str, timeout_s: float = 3.0) -> Found:
    """Ask an address for what the tool of that name would say. Never raises: an address that is wrong is not ``up``."""
    looks: dict[str, Callable[[httpx.Client, str], Found]] = {
        "prometheus": _prometheus,
        "jaeger": _jaeger,
        "elasticsearch": _elasticsearch,
    }
    url = url.rstrip("/")
    try:
        with httpx.Client(timeout=timeout_s, follow_redirects=False) as client:
            return looks[tool](client, url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Found(tool, url, False, f"does not answer ({type(error).__name__})")
    except (ValueError, TypeError, KeyError, AttributeError):
        return Found(tool, url, False, f"answers, but not like {tool.capitalize()}")


def project_of(found: list[Found]) -> str:
    """The project that most backends name; "" when none names any. Containers are asked where no other backend names one."""
    votes: Counter[str] = Counter()
    telling = [one for one in found if one.tool != "containers" and one.projects]
    for one in telling or found:
        votes.update({name: 1_000_000 + count for name, count in one.projects.items()})
    return max(sorted(votes), key=votes.__getitem__) if votes else ""


def _get(client: httpx.Client, url: str, **parameters: str) -> Any:
    return client.get(url, params=parameters).raise_for_status().json()


def _prometheus(client: httpx.Client, url: str) -> Found:
    version = str(_get(client, f"{url}/api/v1/status/buildinfo")["data"]["version"])
    projects = {str(name): 1 for name in _get(client, f"{url}/api/v1/label/project/values")["data"]}
    services = tuple(str(name) for name in _get(client, f"{url}/api/v1/label/service/values")["data"][:_SHOWN])
    named = f", {len(services)} services" if services else ""
    return Found("prometheus", url, True, f"Prometheus {version}{named}", projects, services)


def _jaeger(client: httpx.Client, url: str) -> Found:
    services = tuple(str(name) for name in _get(client, f"{url}/api/services")["data"] or ())
    return Found("jaeger", url, True, f"Jaeger, {len(services)} services", {}, services[:_SHOWN])


def _elasticsearch(client: httpx.Client, url: str) -> Found:
    try:
        version = str(_get(client, url)["version"]["number"])
    except httpx.HTTPStatusError:  # a role that may only search is not told it
        version = "of a version that it does not tell"
    listed = _get(client, f"{url}/_cat/indices/logs-*", format="json", h="index,docs.count")
    projects = {str(i["index"]).removeprefix("logs-"): int(i["docs.count"] or 0) for i in listed}
    return Found("elasticsearch", url, True, f"Elasticsearch {version}, {len(projects)} indices of logs", projects)
