"""Jaeger: traces, through its query API."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from dataclasses import replace
from urllib.parse import urlencode

from revelio.catalog import ToolSpec
from revelio.deadline import end
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.telemetry import Workers
from revelio.tools import links
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher, TooLargeError
from revelio.tools.jaeger import views
from revelio.tools.jaeger.traces import TraceSpan, figures, parse_traces
from revelio.tools.jaeger.views import Fetched, Question, Sample, divide
from revelio.tools.placeholders import tree
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Entity, Evidence, Query, Result, SpanStat, Window

SNAPSHOT_TRACES, RUN_TRACES, LINKED_TRACES = 200, 100, 20
ENOUGH_SPANS = 30
"""Spans of one operation in the traces of its service that make a request for the operation alone unnecessary."""

FEWEST_TRACES = 1
"""Traces with a call per row reach a megabyte: one of them is better than an error."""
FIRST_TRACES = 5
"""Traces that are asked for first of a service, to learn how large and slow its traces are."""
GOOD_SIZE = 1_200_000
"""Characters of an answer that a loaded Jaeger gives within a second."""
CACHE_SIZE, CACHE_TTL_S, SETTLED_S = 64, 60.0, 3.0
"""Entries and TTL of the caches of traces, in seconds; a window is final this many seconds after its end."""

MOST_SERVICES = 200
"""Services that one snapshot asks for."""

_RESERVE = 0.3
"""The part of a request's time in which a snapshot asks for no further service, so that what it has seen is returned."""

MAX_OPERATIONS = 40
"""Operations of one service in a snapshot: those that took the most time."""

_OWN = re.compile(r"jaeger(-.*)?")
"""Jaeger traces itself, which is not part of the system."""

_DURATION = re.compile(r"\d+(\.\d+)?(us|ms|s)")


class Jaeger:
    """The ``jaeger`` tool."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.backend = backend
        self.limits = limits
        self._fetch = Fetcher(spec.name, backend, limits)
        self._entries: frozenset[str] = frozenset()
        self._whole: SingleFlightCache[Fetched] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)
        self._narrow: SingleFlightCache[Fetched] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)
        self._fitting: SingleFlightCache[int] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)

    def ping(self) -> str:
        """How many services it knows."""
        services = self._services()
        return f"Jaeger, {len(services)} services" if services else "Jaeger, no service has sent a span yet"

    def snapshot(self, scope: Scope) -> Evidence:
        """Figures of every operation and edge, now and before, from the latest traces of either window."""
        before, now = self._everything(scope)
        stats = _stats(before, now)
        services = {Entity("service", s.service) for s in (*before.spans, *now.spans)}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted(services | {s.entity for s in stats})),
            spans=stats,
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The request to Jaeger's query API, and in words what is read from the traces where a request cannot say it."""
        question = self._question(query, scope)
        if question.service is None:
            each = urlencode(self._params(question, "NAME", scope.window, SNAPSHOT_TRACES))
            return f"GET /api/services\n# then, for each service NAME in which requests come in:\nGET /api/traces?{each}"
        first, *others = (
            f"GET /api/traces?{urlencode(self._params(question, service, scope.window, RUN_TRACES))}"
            for service in _through(question)
        )
        lines = [first, *(f"# or, where that one sends no spans:\n{other}" for other in others)]
        if question.peer is not None:
            whose = "its calls" if not others else f"calls of {json.dumps(question.service)}"
            lines.append(f"# only {whose} to {json.dumps(question.peer)}")
        return "\n".join(lines)

    def link(self, query: Query, scope: Scope) -> str | None:
        """Jaeger's own search page."""
        question = self._question(query, scope)
        if not self.backend.link or question.service is None:
            return None
        return links.jaeger_search(self.backend.link, self._params(question, question.service, scope.window, LINKED_TRACES))

    def run(self, query: Query, scope: Scope) -> Result:
        """Ask for the traces of window and baseline and read what the question's view says."""
        question = self._question(query, scope)
        before, now = self._everything(scope) if question.service is None else self._about(question, scope)
        return views.VIEWS[question.view](question, before, now, scope)

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    def _question(self, query: Query, scope: Scope) -> Question:
        body = tree(query, scope)
        unknown = sorted(body.keys() - {"view", "service", "operation", "peer", "min_duration", "tags"})
        if unknown:
            raise SourceError(self.name, f"the query says {unknown[0]!r}, which Jaeger is not asked for")
        view = str(body.get("view", "slow"))
        if view not in views.VIEWS:
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(views.VIEWS)}")
        least = str(body.get("min_duration", ""))
        if least and not _DURATION.fullmatch(least):
            raise SourceError(self.name, f"min_duration is {least!r}; write it like 500ms or 2s")
        service = str(body["service"]) if "service" in body else None
        operation = None
        if "operation" in body:
            service, _, operation = str(body["operation"]).partition(": ")
        peer = body.get("peer")
        tags = body.get("tags")
        pairs = tuple((str(k), str(v)) for k, v in tags.items()) if isinstance(tags, dict) else ()
        return Question(view, service, operation, None if peer is None else str(peer), least, pairs)

    def _params(self, question: Question, service: str, window: Window, most: int) -> dict[str, str]:
        tags = dict(question.tags) | ({"error": "true"} if question.view == "errors" else {})
        params = {"service": _text(service)}
        if question.operation:
            params["operation"] = _text(question.operation)
        if tags:
            params["tags"] = _text(json.dumps(tags, ensure_ascii=False))
        if question.min_duration:
            params["minDuration"] = question.min_duration
        return params | {"start": str(int(window.start * 1e6)), "end": str(int(window.end * 1e6)), "limit": str(most)}

    def _services(self) -> list[str]:
        answer = self._fetch.get("/api/services", {})
        names = answer.get("data") if isinstance(answer, dict) else None
        if names is not None and not isinstance(names, list):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Jaeger; is its url right?")
        return sorted(str(n) for n in names or [] if not _OWN.fullmatch(str(n)))

    def _about(self, question: Question, scope: Scope) -> tuple[Sample, Sample]:
        before, now = Fetched(), Fetched()
        for service in _through(question):
            before, now = self._pair(question, service, scope, RUN_TRACES)
            if before.traces or now.traces:
                break
        return divide(before, now, scope)

    def _pair(self, question: Question, service: str, scope: Scope, most: int) -> tuple[Fetched, Fetched]:
        with Workers(max_workers=2) as pool:
            older, newer = pool.map(lambda w: self._fetched(question, service, w, most), (scope.baseline, scope.window))
        return older, newer

    def _fetched(self, question: Question, service: str, window: Window, most: int) -> Fetched:
        if question.operation:
            whole = self._fetched(replace(question, operation=None), service, window, most)
            if whole.scale == 1.0 or sum(question.holds(s) for t in whole.traces for s in t.spans) >= ENOUGH_SPANS:
                return whole
        params = self._params(question, service, window, most)
        narrow = params.keys() & {"operation", "tags", "minDuration"}
        cache = self._narrow if narrow else self._whole  # apart: all views of a service read its whole sample
        key, settled = json.dumps(params, ensure_ascii=False), time.time() > window.end + SETTLED_S
        return cache.get_or_call(key, lambda: self._fresh(question, service, window, most), keep=settled)

    def _fresh(self, question: Question, service: str, window: Window, most: int) -> Fetched:
        most = min(most, self._fitting.get(service) or most)
        while True:
            try:
                answer = self._fetch.get("/api/traces", self._params(question, service, window, most))
                break
            except TooLargeError:
                most //= 4
                if most < FEWEST_TRACES:
                    raise
                self._fitting.put(service, most)
        try:
            traces = parse_traces(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError(self.name, f"answered in a form that is not Jaeger's: {type(error).__name__}: {error}") from error
        scale = 1.0
        if len(traces) >= most:  # the newest ones only: count what they cover, and what the whole window would then hold
            covered = window.end - min(t.start for t in traces)
            scale = max(1.0, window.seconds / max(covered, 1e-3))
        return Fetched(tuple(traces), scale)

    def _fits(self, service: str, window: Window) -> int:
        """How many traces of a service make an answer of a good size, by a few of them.

        Where frameworks are instrumented, a trace has dozens of spans, and two hundred such traces take seconds.
        """
        try:
            answer = self._fetch.get("/api/traces", self._params(Question("all", service), service, window, FIRST_TRACES))
        except TooLargeError:
            return FEWEST_TRACES
        return max(FEWEST_TRACES, min(SNAPSHOT_TRACES, FIRST_TRACES * GOOD_SIZE // len(json.dumps(answer))))

    def _everything(self, scope: Scope) -> tuple[Sample, Sample]:
        """Traces of the whole system: of the services where requests come in, and of those that no such trace went through.

        At most ``MOST_SERVICES`` of them, and as many as answer in time: those of the last time first, then by name.
        """
        before, now = Fetched(), Fetched()
        asked: set[str] = set()
        known = self._services()
        services = sorted(known, key=lambda s: (s not in self._entries, s))[:MOST_SERVICES]
        enough = end(self.limits.seconds) - _RESERVE * self.limits.seconds
        while (service := self._next(services, asked, before, now)) is not None:
            if asked and time.monotonic() > enough:
                break
            self._fitting.get_or_call(service, lambda service=service: self._fits(service, scope.window))  # type: ignore[misc]
            older, newer = self._pair(Question("all", service), service, scope, SNAPSHOT_TRACES)
            before, now = before.joined(older), now.joined(newer)
            asked.add(service)
        self._entries = _entries(before) | _entries(now)
        return divide(before, now, scope)

    def _next(self, services: list[str], asked: set[str], before: Fetched, now: Fetched) -> str | None:
        """The next service to query: known entry services first, then services without a span in either window."""
        entries = _entries(before) | _entries(now) | self._entries
        seen = _services_in(before) & _services_in(now)
        waiting = [s for s in services if s not in asked]
        return next((s for s in waiting if s in entries), None) or next((s for s in waiting if s not in seen), None)


def _through(question: Question) -> tuple[str, ...]:
    """Services whose traces hold what is asked, each to be tried where the one before sends no spans.

    Fewer traces go through who is called than through who calls, and where one request makes hundreds of calls only a few
    traces fit into an answer: they should be those that have such a call.
    """
    if question.service is None:
        return ()
    return (question.peer, question.service) if question.view == "repeated" and question.peer else (question.service,)


def _services_in(fetched: Fetched) -> set[str]:
    return {span.service for trace in fetched.traces for span in trace.spans}


def _entries(fetched: Fetched) -> frozenset[str]:
    """Services in which traces begin."""
    return frozenset(span.service for trace in fetched.traces for span in trace.spans if span.parent is None)


def _text(value: str) -> str:
    return value.encode("utf-8", errors="replace").decode()


def _stats(before: Sample, now: Sample) -> tuple[SpanStat, ...]:
    older, newer = _grouped(before), _grouped(now)
    stats = []
    for entity in _weightiest(older, newer):
        members = newer.get(entity, [])
        stats.append(
            SpanStat(
                entity=entity,
                service=(older.get(entity) or members)[0].service,
                now=figures(members, now.scale),
                before=figures(older.get(entity, []), before.scale),
                first_error_at=min((s.end for s in members if s.error), default=None),
            )
        )
    return tuple(stats)


def _grouped(sample: Sample) -> dict[Entity, list[TraceSpan]]:
    groups: dict[Entity, list[TraceSpan]] = defaultdict(list)
    for span in sample.spans:
        if (entity := span.entity) is not None:
            groups[entity].append(span)
    return groups


def _weightiest(older: dict[Entity, list[TraceSpan]], newer: dict[Entity, list[TraceSpan]]) -> list[Entity]:
    """Every edge, and of each service the operations that took most of its time."""
    taken: dict[Entity, float] = defaultdict(float)
    owner: dict[Entity, str] = {}
    for groups in (older, newer):
        for entity, members in groups.items():
            taken[entity] += sum(s.duration_ms for s in members)
            owner[entity] = members[0].service
    kept: dict[str, int] = defaultdict(int)
    chosen = []
    for entity in sorted(taken, key=lambda e: (-taken[e], e)):
        if entity.kind == "operation":
            kept[owner[entity]] += 1
            if kept[owner[entity]] > MAX_OPERATIONS:
                continue
        chosen.append(entity)
    return sorted(chosen)
