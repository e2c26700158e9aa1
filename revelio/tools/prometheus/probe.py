"""How Prometheus and its relatives are found."""

from __future__ import annotations

from functools import partial
from typing import Any

from revelio.errors import SourceError
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.probe import Probe, ProbeResult, over_http

_SHOWN = 200
_PROJECTS = ("project", "namespace", "container_label_com_docker_compose_project")
"""Labels whose values are names of systems."""
_COUNTED = "up|container_last_seen|kube_pod_info"
"""Metrics with one series for each part of a system."""
_GRAFANA = "prometheus"


def _look(title: str, fetch: Fetcher) -> ProbeResult:
    version = str(_data(fetch, "/api/v1/status/buildinfo")["version"])
    projects = {name: 1 for label in _PROJECTS for name in _values(fetch, label) if not name.startswith("kube-")}
    projects |= {name: count for name, count in _parts(fetch).items() if name in projects}
    services = tuple(str(name) for name in _data(fetch, "/api/v1/label/service/values")[:_SHOWN])
    named = f", {len(services)} services" if services else ""
    return ProbeResult(f"{title} {version}{named}", True, projects, services)


def _victoria(fetch: Fetcher) -> ProbeResult:
    if "VictoriaMetrics" not in fetch.text("/"):
        raise SourceError("victoriametrics", f"{fetch.url} does not answer like VictoriaMetrics; is its url right?")
    return _look("VictoriaMetrics, as Prometheus", fetch)


def _values(fetch: Fetcher, label: str) -> list[str]:
    try:
        return [str(name) for name in _data(fetch, f"/api/v1/label/{label}/values") or ()]
    except StatusError:  # a proxy may let other questions through
        return []


def _parts(fetch: Fetcher) -> dict[str, int]:
    """How many targets and containers carry each project, where that can be told."""
    try:
        counted: Any = fetch.get("/api/v1/query", {"query": f'count by ({", ".join(_PROJECTS)}) ({{__name__=~"{_COUNTED}"}})'})
        rows = counted["data"]["result"]
        return {str(name): int(float(row["value"][1])) for row in rows for name in row["metric"].values()}
    except (SourceError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        return {}


def _data(fetch: Fetcher, path: str) -> Any:
    answer: Any = fetch.get(path, {})
    return answer["data"]


PROBES = {
    "prometheus": Probe(
        (9090,), look=over_http("prometheus", partial(_look, "Prometheus")), grafana=(_GRAFANA,), explored=True, page=True
    ),
    "victoriametrics": Probe(
        (8428,),
        look=over_http("victoriametrics", _victoria),
        grafana=(_GRAFANA, "victoriametrics-metrics-datasource"),
        explored=True,
        page=True,
    ),
    "thanos": Probe((10902,), look=over_http("thanos", partial(_look, "Thanos")), page=True),
}
