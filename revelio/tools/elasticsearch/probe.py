"""How Elasticsearch and OpenSearch are found, and in which indices they hold logs."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import quote

from revelio.errors import SourceError
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.log_fields import PROJECT
from revelio.tools.probe import Probe, ProbeResult, over_http

_TITLES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}
_NAMED = re.compile(r"logs-(?!.*-default$)[^.]+")
"""An index that is called after a project; data streams are called after their dataset and a namespace."""

_MOST_PROJECTS = 20

_SHIPPED = re.compile(r"\.ds-(?P<stream>logs)-|(?P<agent>filebeat|logstash|fluentd|fluent-bit|ss4o_logs|otel-logs|k8s-logs)\b")
"""Indices of what ships logs: data streams of Elastic's agents, and the usual prefixes of others."""


def _look(product: str, fetch: Fetcher) -> ProbeResult:
    try:
        told: Any = fetch.get("/", {})
        version, distribution = str(told["version"]["number"]), str(told["version"].get("distribution", "elasticsearch"))
    except StatusError:  # a role that may only search is not told it
        version, distribution = "of a version that it does not tell", "elasticsearch"
    if distribution != product:
        raise SourceError(product, f"{fetch.url} is {_TITLES.get(distribution, distribution)}")
    listed: Any = fetch.get("/_cat/indices", {"format": "json", "h": "index,docs.count", "expand_wildcards": "open,hidden"})
    held = {str(i["index"]): int(i["docs.count"] or 0) for i in listed}
    named = {name.removeprefix("logs-"): count for name, count in held.items() if _NAMED.fullmatch(name)}
    settings = {} if named else _index(held)
    labelled = _labelled(fetch, settings.get("index", "logs-*"))
    count = sum(name.startswith("logs-") or bool(_SHIPPED.match(name)) for name in held)
    return ProbeResult(f"{_TITLES[product]} {version}, {count} indices of logs", True, labelled or named, (), settings)


def _labelled(fetch: Fetcher, index: str) -> dict[str, int]:
    """The projects that labels of the documents name, with how many documents do; empty where there are none."""
    path = f"/{quote(index, safe=',*')}"
    try:
        forms = [form for name in PROJECT[:-1] for form in (name, f"{name}.keyword")]
        caps: Any = fetch.get(f"{path}/_field_caps", {"fields": ",".join(forms), "ignore_unavailable": "true"})
        there = [name for name, kinds in caps["fields"].items() if all(kind.get("aggregatable") for kind in kinds.values())]
        aggs = {name: {"terms": {"field": name, "size": _MOST_PROJECTS}} for name in there}
        answer: Any = fetch.send(f"{path}/_search", {"size": 0, "aggs": aggs}) if there else {}
        buckets = [b for of in (answer.get("aggregations") or {}).values() for b in of["buckets"]]
        return {str(b["key"]): int(b["doc_count"]) for b in buckets if b["key"] and not str(b["key"]).startswith("kube-")}
    except (StatusError, KeyError, TypeError, ValueError, AttributeError):  # a role may only search
        return {}


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
