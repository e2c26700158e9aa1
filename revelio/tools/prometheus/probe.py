"""How Prometheus and its relatives are found."""

from __future__ import annotations

from functools import partial
from typing import Any

from revelio.errors import SourceError
from revelio.tools.fetch import Fetcher
from revelio.tools.probe import Probe, Seen, over_http

_SHOWN = 200
_GRAFANA = "prometheus"


def _look(title: str, fetch: Fetcher) -> Seen:
    version = str(_data(fetch, "/api/v1/status/buildinfo")["version"])
    projects = {str(name): 1 for name in _data(fetch, "/api/v1/label/project/values")}
    services = tuple(str(name) for name in _data(fetch, "/api/v1/label/service/values")[:_SHOWN])
    named = f", {len(services)} services" if services else ""
    return Seen(f"{title} {version}{named}", True, projects, services)


def _victoria(fetch: Fetcher) -> Seen:
    if "VictoriaMetrics" not in fetch.text("/"):
        raise SourceError("victoriametrics", f"{fetch.url} does not answer like VictoriaMetrics; is its url right?")
    return _look("VictoriaMetrics, as Prometheus", fetch)


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
