"""Elasticsearch and OpenSearch: logs, through ``_search``, ``_field_caps`` and ``_cluster/health`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.telemetry import Workers
from revelio.tools import links
from revelio.tools import log_views as views
from revelio.tools.base import Limits, Scope
from revelio.tools.elasticsearch import esql
from revelio.tools.elasticsearch import query as log_query
from revelio.tools.elasticsearch.fields import Fields, mapped
from revelio.tools.elasticsearch.search import (
    BEFORE,
    NOW,
    PROBLEM_LEVELS,
    comparing,
    counts_of,
    filled_fields,
    found,
    history_of,
    line_in,
    lines_of,
    over_time,
)
from revelio.tools.elasticsearch.store import ElasticsearchStore, Store
from revelio.tools.fetch import StatusError
from revelio.tools.history import History, observed
from revelio.tools.log_patterns import Lines, mine, ordered
from revelio.tools.log_views import Counts
from revelio.tools.placeholders import Tree, put, tree, values
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Entity, Evidence, LogPattern, Query, Result, Window

_Part = TypeVar("_Part")

SNAPSHOT_LINES, MAX_PATTERNS = 1000, 200
MAX_COUNTED = 40
"""Patterns that are counted by a search where only a part of the lines was read."""
FRESH_S = 600.0
"""How long the fields that were found hold, in seconds."""


class ElasticsearchLogs:
    """The ``elasticsearch`` tool: log documents of the index that the settings name, or ``logs-<project>``."""

    title = "Elasticsearch"
    store: Callable[[str, Backend, Limits], Store] = ElasticsearchStore

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.backend = backend
        self.limits = limits
        self._store = type(self).store(spec.name, backend, limits)
        self._histories: SingleFlightCache[History] = SingleFlightCache(64, FRESH_S)
        self._fields: SingleFlightCache[Fields] = SingleFlightCache(16, FRESH_S)

    def ping(self) -> str:
        """Its health in a word."""
        answer = self._answered(self._store.health)
        if "status" not in answer:
            raise SourceError(self.name, f"{self.backend.url} is not Elasticsearch or OpenSearch; is its url right?")
        return f"{self.title}, cluster {answer.get('status', 'in an unknown state')}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Patterns of problem lines and of all others, now and before: four searches."""
        problems: Tree = {"terms": {"log.level": [*PROBLEM_LEVELS]}}
        others: Tree = {"bool": {"must_not": [problems]}}
        wanted = [(query, window) for window in (scope.baseline, scope.window) for query in (problems, others)]
        with Workers(max_workers=len(wanted)) as pool:
            parts = list(pool.map(lambda w: self._lines(scope, w[0], w[1], SNAPSHOT_LINES), wanted))
        patterns = mine(parts[:2], parts[2:])
        if any(part.scale > 1.0 for part in parts):
            patterns = self._recounted(patterns, {"match_all": {}}, scope)
        return Evidence(
            window=scope.window,
            baseline=self._observed(scope).baseline,
            entities=tuple(sorted({Entity("log_source", line.source) for part in parts for line in part.lines if line.source})),
            logs=patterns[:MAX_PATTERNS],
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The search as Elasticsearch's console takes it."""
        _, wanted = self._question(query, scope)
        if isinstance(wanted, str):
            return wanted
        text = json.dumps(comparing(wanted, scope, self.limits, self._known(scope)), indent=2, ensure_ascii=False)
        return f"GET {self._index(scope)}/_search\n{text}"

    def link(self, query: Query, scope: Scope) -> str | None:
        """The search in the page that ``link`` names; None where there is none, or it cannot take this search."""
        if not self.backend.link:
            return None
        _, wanted = self._question(query, scope)
        return self.page(self._known(scope).translated(wanted), scope, Window(scope.baseline.start, scope.window.end))

    def page(self, wanted: Tree, scope: Scope, whole: Window) -> str | None:
        """Kibana Discover; None for a search that neither a data view nor ES|QL can take."""
        if isinstance(wanted, str):
            return links.kibana_esql(self.backend.link, wanted, whole)
        if self.backend.data_view:
            return links.kibana_filter(self.backend.link, self.backend.data_view, wanted, whole)
        said = log_query.esql(wanted, self._index(scope))
        return None if said is None else links.kibana_esql(self.backend.link, said, whole)

    def run(self, query: Query, scope: Scope) -> Result:
        """Search baseline and window, and read what the view says."""
        view, wanted = self._question(query, scope)
        scope = self._observed(scope)
        if isinstance(wanted, str):
            return esql.compared(wanted, scope, self.limits.rows, lambda said, window: self._table(said, window, scope))
        return self._views()[view](wanted, scope)

    def notes(self, project: str) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._store.notes

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def _known(self, scope: Scope) -> Fields:
        """The fields as they were found last; asks nothing."""
        return self._fields.get(f"{self._index(scope)} {scope.project}") or Fields()

    def _views(self) -> Mapping[str, Callable[[Tree, Scope], Result]]:
        return {
            "lines": self._run_lines,
            "exceptions": self._run_exceptions,
            "levels": self._run_levels,
            "new_patterns": self._run_new_patterns,
            "trace": self._run_trace,
        }

    def _question(self, query: Query, scope: Scope) -> tuple[str, Tree]:
        """The view and the search; for a question in ES|QL, its text."""
        if esql.is_esql(query.template.body):
            said = put(query.template.body.strip(), values(query, scope), log_query.text)
            if why := esql.refusal(said, self._index(scope)):
                raise SourceError(self.name, f"the query {why}")
            return "esql", said
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
        answer = self._search(scope, over_time(wanted, scope, self.limits, views.STRETCH_S, self._names(scope)))
        buckets = self._part(dict, answer, "aggregations", "level", "buckets")
        counts: dict[str, dict[float, float]] = {}
        for level, bucket in buckets.items():
            points = {float(p["key"]) / 1000.0: float(p["doc_count"]) for p in bucket["time"]["buckets"]}
            if points:
                counts[level] = points
        return views.by_level(counts, scope)

    def _run_new_patterns(self, wanted: Tree, scope: Scope) -> Result:
        with Workers(max_workers=2) as pool:
            before, now = pool.map(lambda w: self._lines(scope, wanted, w, SNAPSHOT_LINES), (scope.baseline, scope.window))
        patterns = mine([before], [now])
        if before.scale > 1.0 or now.scale > 1.0:
            patterns = self._recounted(patterns, wanted, scope)
        return views.new_patterns(patterns, scope)

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
        answer = self._search(scope, comparing(wanted, scope, self.limits, self._names(scope)))
        buckets = self._part(list, answer, "aggregations", "when", "buckets")
        by_key = {str(b["key"]): float(b["doc_count"]) for b in buckets}
        return self._hits(answer, scope), Counts(by_key.get(BEFORE, 0.0), by_key.get(NOW, 0.0))

    def _recounted(self, patterns: Sequence[LogPattern], wanted: Tree, scope: Scope) -> tuple[LogPattern, ...]:
        """The first patterns with their true counts, where only a part of the lines was read: what is new is so by a search."""
        first, rest = patterns[:MAX_COUNTED], patterns[MAX_COUNTED:]
        answer = self._search(scope, counts_of(first, wanted, scope, self.limits, self._names(scope)))
        buckets = self._part(dict, answer, "aggregations", "patterns", "buckets")
        counted = []
        for place, pattern in enumerate(first):
            sides = {str(b["key"]): int(b["doc_count"]) for b in buckets.get(str(place), {}).get("when", {}).get("buckets", ())}
            known = replace(pattern, count=sides[NOW], baseline_count=sides[BEFORE]) if sides else pattern
            counted.append(known)
        return ordered([*counted, *rest])

    def _observed(self, scope: Scope) -> Scope:
        """The scope with that part of its baseline in which lines came in."""
        return observed(scope, self._histories.get_or_call(f"{self._index(scope)} {scope}", lambda: self._history(scope)))

    def _history(self, scope: Scope) -> History:
        answer = self._search(scope, history_of(scope, self.limits, self._names(scope)))
        told = self._part(dict, answer, "aggregations")
        oldest, first = (_seconds(part.get("first", {}).get("value")) for part in (told, told.get("baseline", {})))
        return History(oldest, first, float(told.get("baseline", {}).get("doc_count", 0)))

    def _lines(self, scope: Scope, wanted: Tree, window: Window, most: int) -> Lines:
        return self._hits(self._search(scope, lines_of(wanted, window, scope, most, self.limits, self._names(scope))), scope)

    def _table(self, said: str, window: Window, scope: Scope) -> esql.Table:
        within = found({"match_all": {}}, window, scope, self._names(scope))
        answer = self._answered(lambda: self._store.esql(said, within))
        try:
            return esql.table_in(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError(self.name, f"answered in a form that is not Elasticsearch's: {type(error).__name__}") from error

    def _search(self, scope: Scope, request: dict[str, Tree]) -> Mapping[str, Any]:
        return self._answered(lambda: self._store.search(self._index(scope), request))

    def _answered(self, ask: Callable[[], object]) -> Mapping[str, Any]:
        try:
            answer = ask()
        except StatusError as error:
            if error.status == 404:
                raise SourceError(self.name, f"{error.reason}; is its index set right, and are logs shipped to it?") from error
            if error.status in (401, 403):
                raise
            raise SourceError(self.name, f"refused the search: {error.reason}") from error
        if not isinstance(answer, Mapping):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Elasticsearch; is its url right?")
        return answer

    def _names(self, scope: Scope) -> Fields:
        """The fields of the documents: found out once in a while; those of ECS where the store does not say."""
        key = f"{self._index(scope)} {scope.project}"
        known = self._fields.get(key)
        if known is None and (known := self._found(scope)) is not None:  # an index that is empty yet may be filled
            self._fields.put(key, known)
        return known or Fields()

    def _found(self, scope: Scope) -> Fields | None:
        try:
            there = mapped(self._store.fields(self._index(scope)))
        except StatusError:  # a role may be kept from mappings; the search itself says what is wrong
            return None
        if there is None:
            return None
        answer = self._search(scope, filled_fields(there.candidates, scope.project, self.limits))
        filled, named = (_counted(answer, part) for part in ("filled", "project"))
        project = next((name for name, count in named.items() if count), "")
        return there.fields(filled, int(answer.get("hits", {}).get("total", {}).get("value", 0)), project)

    def _index(self, scope: Scope) -> str:
        return self.backend.index or f"logs-{scope.project}"

    def _part(self, kind: type[_Part], answer: Mapping[str, Any], *path: str) -> _Part:
        part: Any = answer
        for name in path:
            part = part.get(name) if isinstance(part, Mapping) else None
        if not isinstance(part, kind):
            raise SourceError(self.name, f"answered without {'.'.join(path)}; is this address really Elasticsearch?")
        return part

    def _hits(self, answer: Mapping[str, Any], scope: Scope) -> Lines:
        hits = self._part(list, answer, "hits", "hits")
        names = self._names(scope)
        try:
            lines = tuple(line_in(hit["fields"], names) for hit in hits)
            total = int(answer["hits"].get("total", {}).get("value", len(lines)))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise SourceError(self.name, f"answered in a form that is not Elasticsearch's: {type(error).__name__}") from error
        return Lines(lines, total)


def _counted(answer: Mapping[str, Any], part: str) -> dict[str, int]:
    """The documents of each named filter of an aggregation, in their order."""
    buckets = answer.get("aggregations", {}).get(part, {}).get("buckets", {})
    return {str(name): int(bucket["doc_count"]) for name, bucket in buckets.items()}


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else float(milliseconds) / 1000.0
