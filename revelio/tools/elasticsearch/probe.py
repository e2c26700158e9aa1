"""How Elasticsearch and OpenSearch are found, and in which indices they hold logs."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from revelio.errors import SourceError
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.probe import Probe, Seen, over_http

_TITLES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}
_SHIPPED = re.compile(r"\.ds-(?P<stream>logs)-|(?P<agent>filebeat|logstash|fluentd|fluent-bit|ss4o_logs|otel-logs|k8s-logs)\b")
"""Indices of what ships logs: data streams of Elastic's agents, and the usual prefixes of others."""


def _look(product: str, fetch: Fetcher) -> Seen:
    try:
        told: Any = fetch.get("/", {})
        version, distribution = str(told["version"]["number"]), str(told["version"].get("distribution", "elasticsearch"))
    except StatusError:  # a role that may only search is not told it
        version, distribution = "of a version that it does not tell", "elasticsearch"
    if distribution != product:
        raise SourceError(product, f"{fetch.url} is {_TITLES.get(distribution, distribution)}")
    listed: Any = fetch.get("/_cat/indices", {"format": "json", "h": "index,docs.count", "expand_wildcards": "open,hidden"})
    held = {str(i["index"]): int(i["docs.count"] or 0) for i in listed}
    projects = {name.removeprefix("logs-"): count for name, count in held.items() if name.startswith("logs-")}
    return Seen(
        f"{_TITLES[product]} {version}, {len(projects)} indices of logs", True, projects, (), {} if projects else _index(held)
    )


def _index(held: dict[str, int]) -> dict[str, str]:
    """The pattern of the indices with most documents, of those that something ships logs to."""
    patterns: dict[str, int] = {}
    for name, count in held.items():
        if shipped := _SHIPPED.match(name):
            pattern = f"{shipped['stream'] or shipped['agent']}-*"
            patterns[pattern] = patterns.get(pattern, 0) + count
    return {"index": max(patterns, key=patterns.__getitem__)} if patterns else {}


PROBES = {
    name: Probe((9200,), look=over_http(name, partial(_look, name)), grafana=(name, f"grafana-{name}-datasource"))
    for name in _TITLES
}
