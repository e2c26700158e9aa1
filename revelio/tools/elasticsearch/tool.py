"""Elasticsearch: logs, through the official client and ``_search`` alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, cast

from elastic_transport import ConnectionTimeout, NodeConfig, TransportError
from elastic_transport.client_utils import url_to_node_config
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError
from elasticsearch import NotFoundError as NoIndexError

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.telemetry import Workers
from revelio.tools import links
from revelio.tools import log_views as views
from revelio.tools.base import Limits, Scope
from revelio.tools.elasticsearch import query as log_query
from revelio.tools.elasticsearch.bounded_node import LIMITS, BoundedNode
from revelio.tools.elasticsearch.search import BEFORE, NOW, PROBLEM_LEVELS, comparing, line_in, lines_of, over_time
from revelio.tools.log_patterns import Lines, level_of, mine
from revelio.tools.log_views import Counts
from revelio.tools.placeholders import Tree, tree
from revelio.types import Entity, Evidence, Query, Result, Window

SNAPSHOT_LINES, MAX_PATTERNS = 1000, 200

_CONNECTION = re.compile(r"^\w+\(host=[^)]*\): ")
"""How the client's library names the connection that failed; the error names the address already."""


class ElasticsearchLogs:
    """The ``elasticsearch`` tool: ECS documents in the index ``logs-<project>``."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.backend = backend
        self.limits = limits

    @cached_property
    def _client(self) -> Elasticsearch:
        if not self.backend.url:
            raise SourceError(self.name, "no address is set for it; give its backend a url in revelio.toml")
        try:
            found = url_to_node_config(self.backend.url, use_default_ports_for_scheme=True)
        except ValueError as error:
            raise SourceError(self.name, f"its url {self.backend.url!r} is not one: {error}") from error
        node = NodeConfig(
            found.scheme, found.host, found.port, found.path_prefix, headers=found.headers, _extras={LIMITS: self.limits}
        )
        return Elasticsearch(
            [node], node_class=BoundedNode, request_timeout=self.limits.seconds, max_retries=0, retry_on_timeout=False
        )

    def ping(self) -> str:
        """Its health in a word."""
        answer = self._asked(lambda: self._client.cluster.health(timeout=f"{self.limits.seconds:g}s"))
        return f"Elasticsearch, cluster {answer.get('status', 'in an unknown state')}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Patterns of problem lines and of all others, now and before: four searches."""
        problems: Tree = {"terms": {"log.level": [*PROBLEM_LEVELS]}}
        others: Tree = {"bool": {"must_not": [problems]}}
        wanted = [(query, window) for window in (scope.baseline, scope.window) for query in (problems, others)]
        with Workers(max_workers=len(wanted)) as pool:
            parts = list(pool.map(lambda w: self._lines(scope, w[0], w[1], SNAPSHOT_LINES), wanted))
        patterns = mine(parts[:2], parts[2:])[:MAX_PATTERNS]
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({Entity("log_source", line.source) for part in parts for line in part.lines})),
            logs=patterns,
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The search as Elasticsearch's console takes it."""
        _, wanted = self._question(query, scope)
        text = json.dumps(comparing(wanted, scope, self.limits), indent=2, ensure_ascii=False)
        return f"GET {_index(scope)}/_search\n{text}"

    def link(self, query: Query, scope: Scope) -> str | None:
        """Kibana Discover, where ``link`` names a Kibana; None for a search that neither a data view nor ES|QL can take."""
        if not self.backend.link:
            return None
        _, wanted = self._question(query, scope)
        whole = Window(scope.baseline.start, scope.window.end)
        if self.backend.data_view:
            return links.kibana_filter(self.backend.link, self.backend.data_view, wanted, whole)
        said = log_query.esql(wanted, _index(scope))
        return None if said is None else links.kibana_esql(self.backend.link, said, whole)

    def run(self, query: Query, scope: Scope) -> Result:
        """Search baseline and window, and read what the view says."""
        view, wanted = self._question(query, scope)
        return self._views()[view](wanted, scope)

    def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def _views(self) -> Mapping[str, Callable[[Tree, Scope], Result]]:
        return {
            "lines": self._run_lines,
            "exceptions": self._run_exceptions,
            "levels": self._run_levels,
            "new_patterns": self._run_new_patterns,
            "trace": self._run_trace,
        }

    def _question(self, query: Query, scope: Scope) -> tuple[str, Tree]:
        body = tree(query, scope)
        unknown = sorted(body.keys() - {"view", "query"})
        if unknown:
            raise SourceError(self.name, f"the query says {unknown[0]!r}; write it as a mapping with view and query")
        view = str(body.get("view", "lines"))
        if view not in self._views():
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(self._views())}")
        wanted = body.get("query", {"match_all": {}})
        why = log_query.refusal(wanted)
        if why:
            raise SourceError(self.name, f"the query {why}")
        return view, wanted

    def _run_lines(self, wanted: Tree, scope: Scope) -> Result:
        lines, counts = self._counted(wanted, scope)
        return views.listed(lines, counts, scope)

    def _run_exceptions(self, wanted: Tree, scope: Scope) -> Result:
        lines, counts = self._counted(wanted, scope)
        return views.by_exception(lines, counts, scope)

    def _run_levels(self, wanted: Tree, scope: Scope) -> Result:
        answer = self._search(scope, over_time(wanted, scope, self.limits, views.STRETCH_S))
        buckets = cast(list[dict[str, Any]], self._part(answer, "aggregations", "level", "buckets"))
        counts: dict[str, dict[float, float]] = {}
        for bucket in buckets:
            level = counts.setdefault(level_of(str(bucket["key"])), {})
            for point in bucket["time"]["buckets"]:
                at = float(point["key"]) / 1000.0
                level[at] = level.get(at, 0.0) + float(point["doc_count"])
        return views.by_level(counts, scope)

    def _run_new_patterns(self, wanted: Tree, scope: Scope) -> Result:
        with Workers(max_workers=2) as pool:
            before, now = pool.map(lambda w: self._lines(scope, wanted, w, SNAPSHOT_LINES), (scope.baseline, scope.window))
        return views.new_patterns(mine([before], [now]), scope)

    def _run_trace(self, wanted: Tree, scope: Scope) -> Result:
        lines, counts = self._counted(wanted, scope)
        latest = max((line for line in lines.lines if line.trace), key=lambda line: line.at, default=None)
        if latest is None:
            return views.listed(Lines(), counts, scope)
        whole = Window(scope.baseline.start, scope.window.end)
        found = self._lines(scope, {"term": {"trace.id": latest.trace}}, whole, self.limits.rows)
        return views.of_trace(latest.trace, found, counts, scope)

    def _counted(self, wanted: Tree, scope: Scope) -> tuple[Lines, Counts]:
        """The newest lines of the window, and how many there were then and now."""
        answer = self._search(scope, comparing(wanted, scope, self.limits))
        buckets = cast(list[dict[str, Any]], self._part(answer, "aggregations", "when", "buckets"))
        by_key = {str(b["key"]): float(b["doc_count"]) for b in buckets}
        return self._hits(answer), Counts(by_key.get(BEFORE, 0.0), by_key.get(NOW, 0.0))

    def _lines(self, scope: Scope, wanted: Tree, window: Window, most: int) -> Lines:
        return self._hits(self._search(scope, lines_of(wanted, window, most, self.limits)))

    def _search(self, scope: Scope, request: dict[str, Tree]) -> Mapping[str, Any]:
        return self._asked(lambda: self._client.search(index=_index(scope), body=request))

    def _asked(self, ask: Callable[[], Any]) -> Mapping[str, Any]:
        try:
            body = ask().body
        except NoIndexError as error:
            raise SourceError(self.name, f"has no such index ({_why(error)}); are logs shipped to it?") from error
        except ApiError as error:
            raise SourceError(self.name, f"refused the search: {_why(error)}") from error
        except UnsupportedProductError as error:
            raise SourceError(self.name, f"{self.backend.url} is not Elasticsearch; is its url right?") from error
        except ConnectionTimeout as error:
            why = f"gave no answer within {self.limits.seconds:g} s; is it overloaded, or is timeout_s too small?"
            raise SourceError(self.name, f"{self.backend.url} {why}") from error
        except TransportError as error:
            said = _CONNECTION.sub("", error.message)
            raise SourceError(self.name, f"{self.backend.url} does not answer as it should: {said}; is it running?") from error
        except ValueError as error:
            raise SourceError(self.name, f"the search cannot be sent: {error}") from error
        if not isinstance(body, Mapping):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Elasticsearch; is its url right?")
        return body

    def _part(self, answer: Mapping[str, Any], *path: str) -> object:
        part: Any = answer
        for name in path:
            part = part.get(name) if isinstance(part, Mapping) else None
        if part is None:
            raise SourceError(self.name, f"answered without {'.'.join(path)}; is this address really Elasticsearch?")
        return part

    def _hits(self, answer: Mapping[str, Any]) -> Lines:
        hits = cast(list[dict[str, Any]], self._part(answer, "hits", "hits"))
        try:
            lines = tuple(line_in(hit["fields"]) for hit in hits)
            total = int(answer["hits"].get("total", {}).get("value", len(lines)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise SourceError(self.name, f"answered in a form that is not Elasticsearch's: {type(error).__name__}") from error
        return Lines(lines, total)


def _index(scope: Scope) -> str:
    return f"logs-{scope.project}"


def _why(error: ApiError) -> str:
    found = error.body.get("error") if isinstance(error.body, dict) else None
    causes = found.get("root_cause") if isinstance(found, dict) else None
    first = causes[0] if isinstance(causes, list) and causes else found
    reason = first.get("reason") if isinstance(first, dict) else None
    return str(reason or error.message)[:500]
