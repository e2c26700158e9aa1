"""How Jaeger is found."""

from __future__ import annotations

from revelio.tools.fetch import Fetcher
from revelio.tools.probe import Probe, ProbeResult, over_http

_SHOWN = 200


def _look(fetch: Fetcher) -> ProbeResult:
    answer = fetch.get("/api/services", {})
    services = tuple(str(name) for name in answer["data"] or ())  # type: ignore[index]
    return ProbeResult(f"Jaeger, {len(services)} services", services=services[:_SHOWN])


PROBES = {"jaeger": Probe((16686,), look=over_http("jaeger", _look), grafana=("jaeger",), page=True)}
