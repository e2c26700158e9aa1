"""How Prometheus and its relatives are found."""

from __future__ import annotations

from functools import partial
from typing import Any

from revelio.errors import SourceError
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.probe import Probe, Seen, over_http

_SHOWN = 200
_PROJECTS = ("project", "namespace", "container_label_com_docker_compose_project")
"""Labels whose values are names of systems."""
_GRAFANA = "prometheus"


def _look(title: str, fetch: Fetcher) -> Seen:
    version = str(_data(fetch, "/api/v1/status/buildinfo")["version"])
    projects = {name: 1 for label in _PROJECTS for name in _values(fetch, label) if not name.startswith("kube-")}
    services = tuple(str(name) for name in _data(fetch, "/api/v1/label/service/values")[:_SHOWN])
    named = f", {len(services)} services" if services else ""
    return Seen(f"{title} {version}{named}", True, projects, services)


def _victoria(fetch: Fetcher) -> Seen:
    if "VictoriaMetrics" not in fetch.text("/"):
        raise SourceError("victoriametrics", f"{fetch.url} does not answer like VictoriaMetrics; is its url right?")
    return _look("VictoriaMetrics, as Prometheus", fetch)


def _values(fetch: Fetcher, label: str) -> list[str]:
    try:
        return [str(name) for name in _data(fetch, f"/api/v1/label/{label}/values") or ()]
    except StatusError:  # a proxy may let other questions through
        return []


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
