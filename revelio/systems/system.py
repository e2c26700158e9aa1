"""Live systems to query."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

from revelio.catalog import Catalog
from revelio.catalog.aliases import common, join_names, local
from revelio.catalog.conventions import Cadence
from revelio.catalog.unreachable import presence, unreachable
from revelio.errors import SourceError
from revelio.errors.redaction import redact
from revelio.settings import SystemSettings
from revelio.support.deadline import end, until
from revelio.support.numbers import format_duration
from revelio.support.progress import report_progress
from revelio.support.telemetry import traced
from revelio.systems.merged import join, merge
from revelio.systems.sources import Source, Sources, make_sources, unconnected
from revelio.systems.time_range import TimeRange
from revelio.tools.access import Access
from revelio.tools.base import Historic, Limits, Measured, Scope, Tool, is_past
from revelio.tools.concurrency_limit import ConcurrencyLimit
from revelio.tools.discovery.cadence import USUAL_S
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Alias, Entity, Evidence, Incident, Query, Result, Series, Window

GRACE_S = 0.5
"""How much longer than one request's limit a whole snapshot may take, in seconds."""

INVENTORY_S = 600.0
"""How long the last inventory of a tool is used when the tool does not answer, in seconds."""

POINTS = 8
"""The fewest measurements that a window holds."""

REQUESTS = 2
"""A query may take as long as this many requests in sequence."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolState:
    """Whether a tool's backend answers; ``detail`` is its version, or what is wrong and what to do."""

    tool: str
    up: bool
    detail: str

    def __post_init__(self) -> None:
        """What a backend says of itself may repeat what it was sent."""
        object.__setattr__(self, "detail", redact(self.detail))


class System:
    """A running system and the tools that watch it. Safe to share between threads."""

    def __init__(
        self, name: str, settings: SystemSettings, catalog: Catalog, tools: Mapping[str, Tool], limits: Limits | None = None
    ) -> None:
        """``tools`` are those with a backend here, by the name of that; the catalog may name more."""
        self.name = name
        self.settings = settings
        self.catalog = catalog
        self.tools = dict(tools)
        self.limits = limits or Limits()
        self.sources = Sources(settings, catalog, tools)
        self._access = {name: Access(name, backend.url, backend) for name, backend in settings.backends.items()}
        self._inventory: SingleFlightCache[tuple[Entity, ...]] = SingleFlightCache(64, INVENTORY_S)
        self._aliases: SingleFlightCache[tuple[Alias, ...]] = SingleFlightCache(64, INVENTORY_S)
        self._concurrency = {name: ConcurrencyLimit(name, self.limits.seconds) for name in self.tools}

    @property
    def project(self) -> str:
        """The project name in its backends."""
        return self.settings.project or self.name

    def ping(self) -> tuple[ToolState, ...]:
        """Check every backend, in parallel."""
        answers = self._all({name: tool.ping for name, tool in self.tools.items()})
        return tuple(
            ToolState(name, False, answer.reason) if isinstance(answer, SourceError) else ToolState(name, True, answer)
            for name, answer in answers.items()
        )

    def scope_at(self, asked: TimeRange, now: float) -> Scope:
        """The window that a question names and the baseline before it, in the cadence of the system.

        A window holds ``POINTS`` measurements at least, and its baseline is as long as itself at least.
        """
        cadence = self._cadence()
        start, end = asked.bounds(now, self.settings.window_s or cadence.window_s)
        if asked.named:
            start = min(start, end - POINTS * cadence.scrape_s)
        usual = self.settings.baseline_s or cadence.baseline_s
        return Scope(self.project, Window(start, end), Window(start - max(usual, end - start if asked.named else 0.0), start))

    def user_facing(self, span: Window) -> tuple[Series, ...]:
        """The signals that users feel over a span of time, from the tools that keep a history; empty where none answers."""
        there = {name: tool for name, tool in self.tools.items() if isinstance(tool, Historic)}
        answers = self._all({name: (lambda t=tool: t.user_facing(self.project, span)) for name, tool in there.items()})  # type: ignore[misc]
        return tuple(s for answer in answers.values() if not isinstance(answer, SourceError) for s in answer)

    @traced("revelio.snapshot")
    def snapshot(self, scope: Scope | float, window_s: float | None = None, baseline_s: float | None = None) -> Evidence:
        """A snapshot of all tools. A time (Unix seconds) stands for the window that ends then.

        Tools are asked in parallel; those that fail or exceed the limit are named in ``missing``, and what they named within
        the last ten minutes is taken to be still there. Never raises ``SourceError``.
        """
        if not isinstance(scope, Scope):
            cadence = self._cadence()
            start = scope - (window_s or self.settings.window_s or cadence.window_s)
            before = start - (baseline_s or self.settings.baseline_s or cadence.baseline_s)
            scope = Scope(self.project, Window(start, scope), Window(before, start))
        where = scope
        answers = self._all({name: (lambda t=tool: t.snapshot(where)) for name, tool in self.tools.items()})  # type: ignore[misc]
        seen = {name: a for name, a in answers.items() if isinstance(a, Evidence)}
        missing = tuple(sorted(name for name in answers if name not in seen))
        joined = join_names(seen, where.project, self._aliases_before(where.project, seen))
        seen = dict(joined.parts)
        for name, part in seen.items():
            self._inventory.put(f"{where.project} {name}", part.entities)
        known = {e for name in missing for e in self._inventory.get(f"{where.project} {name}") or ()}
        products = {s.product.name for s in self.sources.all if s.name in seen}
        whole = replace(merge(where, seen.values(), missing), sources=tuple(sorted(products)), aliases=joined.aliases)
        silent, changes = unreachable(
            self.catalog, {s.name: s.product.tool for s in self.sources.all if s.name in missing}, where.window.end
        )
        if not known and not silent:
            return whole
        return replace(whole, entities=tuple(sorted({*known, *silent, *whole.entities})), changes=(*whole.changes, *changes))

    def snapshot_at(self, asked: TimeRange, now: float) -> Evidence:
        """A snapshot of the window that a question names, as ``scope_at`` has it."""
        return self.snapshot(self.scope_at(asked, now))

    def incident(self, report: str, evidence: Evidence) -> Incident:
        """What a report says and what the system showed then, under a new id."""
        return Incident(f"live-{uuid.uuid4().hex[:12]}", self.name, report, evidence.window.end, evidence)

    def _aliases_before(self, project: str, seen: Mapping[str, Evidence]) -> tuple[Alias, ...]:
        """Aliases of the last ten minutes from sources that are silent now."""
        for name, part in seen.items():
            self._aliases.put(f"{project} {name}", part.aliases)
        silent = (self._aliases.get(f"{project} {name}") for name in self.tools if name not in seen)
        return tuple(alias for told in silent for alias in told or ())

    def scope(self, evidence: Evidence) -> Scope:
        """The scope of that evidence."""
        return Scope(self.project, evidence.window, evidence.baseline)

    def retrospective(self, query: Query) -> bool:
        """Whether its backends can answer for a past window."""
        return all(source.tool.retrospective for source in self._asked(query))

    def source(self, query: Query) -> str:
        """The title of what answers it; "" where that of its tool says it."""
        return self.sources.title(query, self._asked(query))

    def render(self, query: Query, scope: Scope | Evidence) -> str:
        """The query in the language of the source that answers it."""
        if presence(query):
            return query.body
        for source in self._asked(query):
            return source.tool.render(_local(source, query, scope), self._scope(scope))
        tool = unconnected(self.catalog, query.template.tool)
        return query.body if tool is None else tool.render(query, self._scope(scope))

    def link(self, query: Query, scope: Scope | Evidence) -> str | None:
        """The URL that opens it in the page of the source that answers it."""
        links = (source.tool.link(_local(source, query, scope), self._scope(scope)) for source in self._asked(query))
        return next((link for link in links if link), None)

    def run(self, query: Query, scope: Scope | Evidence) -> Result:
        """Execute it in the scope of the evidence; ``SourceError`` when its backend fails.

        Of several backends those that fail are left out, unless all do.
        """
        name = query.template.tool
        asked = self._asked(query)
        if not asked:
            raise SourceError(name, f"no backend is set up; name one under [systems.{self.name}.backends.{name}] in revelio.toml")
        if presence(query):
            return self._presence(query.bindings[0][1])
        began = time.perf_counter()
        where, deadline = self._scope(scope), end(REQUESTS * self.limits.seconds + GRACE_S)
        with until(deadline):
            runs = {
                s.name: self._concurrency[s.name].submit(lambda s=s: s.tool.run(_local(s, query, scope), where))  # type: ignore[misc]
                for s in asked
            }
        answers = self._answers(runs, deadline)
        results = {n: common(a, _aliases(scope), n) for n, a in answers.items() if isinstance(a, Result)}
        if not results:
            raise next(answer for answer in answers.values() if isinstance(answer, SourceError))
        result = join(results)
        late = time.time() - where.window.end
        if is_past(where.window) and not all(s.tool.retrospective for s in asked if s.name in results):
            told = f"{result.summary} (its state is as of now, {format_duration(late * 1000.0)} after the time asked about)"
            result = replace(result, summary=told)
        return result if result.took_ms else replace(result, took_ms=(time.perf_counter() - began) * 1000.0)

    def _presence(self, source: str) -> Result:
        """Whether a source answers now."""
        state = next((s for s in self.ping() if s.tool == source), ToolState(source, False, "it is not connected any more"))
        if state.up:
            return Result(f"{source} answers again: {state.detail}", 0.0, "it answers now", kind="table")
        return Result(f"{source} does not answer: {state.detail}", 1.0, "no answer", kind="table")

    def close(self) -> None:
        """Close the connections and threads of the tools."""
        for tool in self.tools.values():
            give_up = getattr(tool, "close", None)
            if give_up is not None:
                give_up()

    def _cadence(self) -> Cadence:
        """How often the system is measured; a quarter of a minute where no tool says it."""
        measured = {name: tool for name, tool in self.tools.items() if isinstance(tool, Measured)}
        answers = self._all({name: (lambda t=tool: t.cadence(self.project)) for name, tool in measured.items()})  # type: ignore[misc]
        return next((answer for answer in answers.values() if isinstance(answer, Cadence)), Cadence(USUAL_S))

    def _scope(self, scope: Scope | Evidence) -> Scope:
        return scope if isinstance(scope, Scope) else self.scope(scope)

    def _asked(self, query: Query) -> tuple[Source, ...]:
        return self.sources.asked(query, self._holds)

    def _holds(self, source: str, entity: Entity) -> bool | None:
        known = self._inventory.get(f"{self.project} {source}")
        return None if known is None else entity in known

    def _all(self, asks: Mapping[str, Callable[[], T]]) -> dict[str, T | SourceError]:
        """Every answer by tool name, or why there is none, at the latest when the limit has passed."""
        deadline = end(self.limits.seconds + GRACE_S)
        with report_progress(asks) as telling, until(deadline):
            futures = {name: self._concurrency[name].submit(ask) for name, ask in telling.items()}
            return self._answers(futures, deadline)

    def _answers(self, futures: Mapping[str, Future[T]], deadline: float) -> dict[str, T | SourceError]:
        found: dict[str, T | SourceError] = {}
        for name, answer in futures.items():
            try:
                found[name] = self._in_time(name, answer, deadline)
            except SourceError as error:
                found[name] = error
        return found

    def _in_time(self, name: str, answer: Future[T], deadline: float) -> T:
        try:
            return answer.result(timeout=max(0.0, deadline - time.monotonic()))
        except SourceError as error:
            secrets = self._access[name].secrets() if name in self._access else ()
            if any(secret in error.reason for secret in secrets):
                raise SourceError(name, redact(error.reason, secrets)) from None
            raise
        except TimeoutError as error:
            if answer.done():
                raise
            why = f"no answer within {self.limits.seconds:g} s; is it overloaded, or is timeout_s too small?"
            raise SourceError(name, why) from error


def _aliases(scope: Scope | Evidence) -> tuple[Alias, ...]:
    return scope.aliases if isinstance(scope, Evidence) else ()


def _local(source: Source, query: Query, scope: Scope | Evidence) -> Query:
    """The query in a source's own language, with the names that it gives to what is asked about."""
    return source.query(local(query, _aliases(scope), source.name))


def open_system(name: str, settings: SystemSettings, catalog: Catalog, timeout_s: float = 5.0) -> System:
    """The system with a tool for every backend that its settings name and the catalog knows. Connects to nothing yet."""
    limits = Limits(seconds=timeout_s)
    return System(name, settings, catalog, make_sources(settings, catalog, limits), limits)
