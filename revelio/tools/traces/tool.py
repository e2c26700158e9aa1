"""What every tool of traces has in common: it finds the services where requests come in, and samples what went through them."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import replace

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.deadline import end
from revelio.support.telemetry import Workers
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher
from revelio.tools.history import History, observed
from revelio.tools.placeholders import tree
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.tools.traces import views
from revelio.tools.traces.model import TraceSpan, figures
from revelio.tools.traces.views import Fetched, TraceQuestion, TraceSample, divide
from revelio.types import Entity, Evidence, Query, Result, SpanStat, Window

ENOUGH_SPANS = 30
"""Spans of one operation in the traces of its service that make a request for the operation alone unnecessary."""

CACHE_SIZE, CACHE_TTL_S, SETTLED_S = 64, 60.0, 3.0
"""Entries and TTL of the caches of traces, in seconds; a window is final this many seconds after its end."""

LOOK_BACK_S = 6 * 3600.0
"""How far before a baseline without traces older ones are looked for, in seconds."""

MOST_SERVICES = 200
"""Services that one snapshot asks for."""

_RESERVE = 0.3
"""The part of a request's time in which a snapshot asks for no further service, so that what it has seen is returned."""

MAX_OPERATIONS = 40
"""Operations of one service in a snapshot: those that took the most time."""


_DURATION = re.compile(r"\d+(\.\d+)?(us|ms|s)")


class TraceTool(ABC):
    """A tool that reads traces. Its subclass knows how its store is asked."""

    snapshot_traces, run_traces = 200, 100
    """Traces of a service and a window that a snapshot reads, and a query."""

    product: str

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.backend = backend
        self.limits = limits
        self._fetch = Fetcher(spec.name, backend, limits)
        self._entries: frozenset[str] = frozenset()
        self._histories: SingleFlightCache[History | None] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)
        self._whole: SingleFlightCache[Fetched] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)
        self._narrow: SingleFlightCache[Fetched] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)

    @abstractmethod
    def services(self) -> list[str]:
        """The names of the services that have sent spans."""

    @abstractmethod
    def fresh(self, question: TraceQuestion, service: str, window: Window, most: int) -> Fetched:
        """Traces through a service that began in a window, asked for now."""

    def prepare(self, service: str, window: Window) -> None:
        """Learn what ``fresh`` has to know of a service, before a snapshot asks for its traces."""
        return

    @abstractmethod
    def render(self, query: Query, scope: Scope) -> str:
        """The request, and in words what is read from the traces where a request cannot say it."""

    @abstractmethod
    def link(self, query: Query, scope: Scope) -> str | None:
        """The URL that opens it in a page."""

    def ping(self) -> str:
        """How many services it knows."""
        services = self.services()
        return f"{self.product}, {len(services)} services" if services else f"{self.product}, no service has sent a span yet"

    def snapshot(self, scope: Scope) -> Evidence:
        """Figures of every operation and edge, now and before, from the latest traces of either window."""
        before, now = self._everything(scope)
        scope = self._observed(scope, None, self.snapshot_traces)
        stats = _stats(before, now)
        services = {Entity("service", s.service) for s in (*before.spans, *now.spans)}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted(services | {s.entity for s in stats})),
            spans=stats,
        )

    def run(self, query: Query, scope: Scope) -> Result:
        """Ask for the traces of window and baseline and read what the question's view says."""
        question = self.question(query, scope)
        before, now = self._everything(scope) if question.service is None else self._about(question, scope)
        return views.VIEWS[question.view](question, before, now, self._observed(scope, question.service, self.run_traces))

    def notes(self, project: str) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._fetch.notes

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    def question(self, query: Query, scope: Scope) -> TraceQuestion:
        """What a body asks; ``SourceError`` when it is none."""
        body = tree(query, scope)
        unknown = sorted(body.keys() - {"view", "service", "operation", "peer", "min_duration", "tags"})
        if unknown:
            raise SourceError(self.name, f"the query says {unknown[0]!r}, which traces are not asked for")
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
        return TraceQuestion(view, service, operation, None if peer is None else str(peer), least, pairs)

    def _observed(self, scope: Scope, service: str | None, most: int) -> Scope:
        """The scope with the part of its baseline in which the store received traces."""
        past = scope.baseline
        return observed(scope, self._histories.get_or_call(f"{past}", lambda: self._history(past, service, most)))

    def _history(self, past: Window, service: str | None, most: int) -> History | None:
        """When traces of a baseline began, by those of a service, else of one where requests come in; None without services."""
        service = service or next(iter(sorted(self._entries) or self.services()), None)
        if service is None:
            return None
        question = TraceQuestion("all", service)
        found = self._fetched(question, service, past, most).traces
        first = min(found, key=lambda t: t.start, default=None)
        if first is not None:
            dense = first.weight > 1.0  # others before it were not read
            return History(past.start, past.start if dense else first.start, sum(t.weight for t in found))
        older = self._fetched(question, service, Window(past.start - LOOK_BACK_S, past.start), 1).traces
        return History(min((t.start for t in older), default=None))

    def _about(self, question: TraceQuestion, scope: Scope) -> tuple[TraceSample, TraceSample]:
        before, now = Fetched(), Fetched()
        for service in through(question):
            before, now = self._pair(question, service, scope, self.run_traces)
            if before.traces or now.traces:
                break
        return divide(before, now, scope)

    def _pair(self, question: TraceQuestion, service: str, scope: Scope, most: int) -> tuple[Fetched, Fetched]:
        with Workers(max_workers=2) as pool:
            older, newer = pool.map(lambda w: self._fetched(question, service, w, most), (scope.baseline, scope.window))
        return older, newer

    def _fetched(self, question: TraceQuestion, service: str, window: Window, most: int) -> Fetched:
        if question.operation:
            whole = self._fetched(replace(question, operation=None), service, window, most)
            if whole.whole or sum(question.holds(s) for t in whole.traces for s in t.spans) >= ENOUGH_SPANS:
                return whole
        narrow = question.operation or question.tags or question.min_duration or question.view == "errors"
        cache = self._narrow if narrow else self._whole  # apart: all views of a service read its whole sample
        asked = question.operation, question.tags, question.min_duration, question.view == "errors", service
        key, settled = f"{asked!r} {window} {most}", time.time() > window.end + SETTLED_S
        return cache.get_or_call(key, lambda: self.fresh(question, service, window, most), keep=settled)

    def _everything(self, scope: Scope) -> tuple[TraceSample, TraceSample]:
        """Traces of the whole system: of the services where requests come in, and of those that no such trace went through.

        At most ``MOST_SERVICES`` of them, and as many as answer in time: those of the last time first, then by name.
        """
        before, now = Fetched(), Fetched()
        asked: set[str] = set()
        known = self.services()
        services = sorted(known, key=lambda s: (s not in self._entries, s))[:MOST_SERVICES]
        enough = end(self.limits.seconds) - _RESERVE * self.limits.seconds
        while (service := self._next(services, asked, before, now)) is not None:
            if asked and time.monotonic() > enough:
                break
            self.prepare(service, scope.window)
            older, newer = self._pair(TraceQuestion("all", service), service, scope, self.snapshot_traces)
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


def through(question: TraceQuestion) -> tuple[str, ...]:
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


def _stats(before: TraceSample, now: TraceSample) -> tuple[SpanStat, ...]:
    older, newer = _grouped(before), _grouped(now)
    stats = []
    for entity in _weightiest(older, newer):
        members = newer.get(entity, [])
        stats.append(
            SpanStat(
                entity=entity,
                service=(older.get(entity) or members)[0].service,
                now=figures(members, now.weights),
                before=figures(older.get(entity, []), before.weights),
                first_error_at=min((s.end for s in members if s.error), default=None),
            )
        )
    return tuple(stats)


def _grouped(sample: TraceSample) -> dict[Entity, list[TraceSpan]]:
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
