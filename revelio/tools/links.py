"""URLs that open a query in the page of its tool. Values are encoded, never concatenated as text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from revelio.types import Window


def prometheus_graph(base: str, promql: str, whole: Window) -> str:
    """Prometheus' graph page (2 and 3), ending where the window ends."""
    return f"{_base(base)}/graph?{urlencode(_graph(promql, whole, '%Y-%m-%d %H:%M:%S'))}"


def vmui_graph(base: str, promql: str, whole: Window) -> str:
    """VictoriaMetrics' own page, vmui, ending where the window ends; of a cluster the base is that of a tenant."""
    span = {**_graph(promql, whole, "%Y-%m-%dT%H:%M:%S"), "g0.relative_time": "none"}
    return f"{_base(base).removesuffix('/prometheus')}/vmui/#/?{urlencode(span)}"


def _graph(promql: str, whole: Window, form: str) -> dict[str, str]:
    return {
        "g0.expr": encodable(promql),
        "g0.tab": "0",
        "g0.range_input": f"{math.ceil(whole.seconds)}s",
        "g0.end_input": datetime.fromtimestamp(whole.end, UTC).strftime(form),
    }


def grafana_explore(base: str, datasource: str, promql: str, whole: Window) -> str:
    """Grafana Explore (10 or later) with one Prometheus query; ``datasource`` is its uid in there."""
    return _explore(
        base, "prometheus", datasource, {"editorMode": "code", "expr": promql, "range": True, "instant": False}, whole
    )


def grafana_logs(base: str, datasource: str, logql: str, whole: Window) -> str:
    """Grafana Explore (10 or later) with one Loki query."""
    return _explore(base, "loki", datasource, {"editorMode": "code", "expr": logql, "queryType": "range"}, whole)


def grafana_traces(base: str, datasource: str, traceql: str, whole: Window) -> str:
    """Grafana Explore (10 or later) with one search of Tempo."""
    asked = {"queryType": "traceql", "query": traceql, "limit": 20, "tableType": "traces"}
    return _explore(base, "tempo", datasource, asked, whole)


def _explore(base: str, kind: str, datasource: str, asked: Mapping[str, object], whole: Window) -> str:
    query = {"refId": "A", "datasource": {"type": kind, "uid": datasource}, **asked}
    pane = {
        "datasource": datasource,
        "queries": [query],
        "range": {"from": str(_milliseconds(whole.start)), "to": str(_milliseconds(whole.end))},
    }
    panes = json.dumps({"revelio": pane}, separators=(",", ":"), ensure_ascii=False)
    return f"{_base(base)}/explore?{urlencode({'schemaVersion': '1', 'panes': encodable(panes)})}"


def jaeger_search(base: str, params: Mapping[str, str]) -> str:
    """Jaeger's search page with what its query API would be asked."""
    return f"{_base(base)}/search?{urlencode({**params, 'lookback': 'custom'})}"


def kibana_filter(base: str, data_view: str, search: object, whole: Window) -> str:
    """Kibana Discover (8.15 or later) on a data view, with a search in Elasticsearch's query language as its filter."""
    meta = {"type": "custom", "key": "query", "alias": "from Revelio", "disabled": False, "index": data_view}
    state = {
        "dataSource": {"dataViewId": data_view, "type": "dataView"},
        "filters": [{"meta": meta, "query": search}],
        "query": {"language": "kuery", "query": ""},
    }
    return _discover(base, state, whole)


def kibana_esql(base: str, esql: str, whole: Window) -> str:
    """Kibana Discover (8.15 or later) with an ES|QL query, for which no data view has to exist."""
    return _discover(base, {"dataSource": {"type": "esql"}, "query": {"esql": encodable(esql)}}, whole)


def dashboards_filter(base: str, index_pattern: str, search: object, whole: Window) -> str:
    """Discover of OpenSearch Dashboards (2.11 or later) with a search in OpenSearch's query language as its filter.

    ``index_pattern`` is the id of one in there; the default one where it is empty.
    """
    named = {"indexPattern": index_pattern} if index_pattern else {}
    meta = {"type": "custom", "key": "query", "alias": "from Revelio", "disabled": False, "negate": False}
    parts = {
        "_a": {"discover": {"columns": ["_source"], "isDirty": False, "sort": []}, "metadata": {**named, "view": "discover"}},
        "_g": {"filters": [], "time": {"from": iso(whole.start), "to": iso(whole.end)}},
        "_q": {
            "filters": [{"meta": {**meta, "index": index_pattern} if index_pattern else meta, "query": search}],
            "query": {"language": "kuery", "query": ""},
        },
    }
    told = "&".join(f"{name}={quote(rison(part), safe='')}" for name, part in parts.items())
    return f"{_base(base)}/app/data-explorer/discover#?{told}"


def rison(value: object) -> str:
    """A value of mappings, sequences, strings, numbers, truth and None in RISON, every string quoted."""
    if isinstance(value, Mapping):
        return "(" + ",".join(f"{_quoted(str(k))}:{rison(v)}" for k, v in value.items()) + ")"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list | tuple):
        return "!(" + ",".join(rison(v) for v in value) + ")"
    if isinstance(value, bool):
        return "!t" if value else "!f"
    return "!n" if value is None else json.dumps(value)


def iso(moment: float) -> str:
    """A moment as Elasticsearch and Kibana write it."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encodable(text: str) -> str:
    """The text in Unicode that an address can carry."""
    return text.encode("utf-8", errors="replace").decode()


def _discover(base: str, state: object, whole: Window) -> str:
    spent = {"time": {"from": iso(whole.start), "to": iso(whole.end)}}
    return f"{_base(base)}/app/discover#/?_g={quote(rison(spent), safe='')}&_a={quote(rison(state), safe='')}"


def _quoted(text: str) -> str:
    return "'" + encodable(text).replace("!", "!!").replace("'", "!'") + "'"


def _milliseconds(moment: float) -> int:
    return round(moment * 1000.0)


def _base(address: str) -> str:
    return address.rstrip("/")
