"""What answers at an address: Prometheus, Jaeger, Elasticsearch, and which project they watch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

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
    """The project that most backends name; "" when none names any."""
    votes: Counter[str] = Counter()
    for one in found:
        votes.update({name: 1_000_000 + count for name, count in one.projects.items()})
    return max(sorted(votes), key=votes.__getitem__) if votes else ""


def _get(client: httpx.Client, url: str, **parameters: str) -> Any:
    return client.get(url, params=parameters).raise_for_status().json()


def _prometheus(client: httpx.Client, url: str) -> Found:
    version = str(_get(client, f"{url}/api/v1/status/buildinfo")["data"]["version"])
    projects = {str(name): 1 for name in _get(client, f"{url}/api/v1/label/project/values")["data"]}
    services = tuple(str(name) for name in _get(client, f"{url}/api/v1/label/service/values")["data"][:_SHOWN])
    return Found("prometheus", url, True, f"Prometheus {version}, {len(services)} services", projects, services)


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
