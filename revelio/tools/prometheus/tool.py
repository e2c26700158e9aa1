"""Prometheus: figures over time, through its HTTP API."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from revelio.anomaly import deviation, explain, levels, own_floor, signal, split
from revelio.catalog import ToolSpec
from revelio.conventions import Cadence, Profile, recorded_profile
from revelio.discovery.store import Profiles
from revelio.errors import SourceError
from revelio.numbers import format_value
from revelio.onset import USER_FACING
from revelio.settings import Backend
from revelio.tools import links
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher
from revelio.tools.prometheus import earlier, promql
from revelio.tools.prometheus.answers import Answer, matrix, vector
from revelio.tools.prometheus.earlier import with_earlier
from revelio.tools.prometheus.imported import ImportedQuestions
from revelio.tools.prometheus.open_metrics import OpenMetrics
from revelio.tools.prometheus.open_metrics import reread as reread_open
from revelio.tools.prometheus.open_series import OpenSeries
from revelio.tools.prometheus.snapshot import AT_ONCE, Range, read, readings, reread
from revelio.types import Direction, Entity, Evidence, Query, QueryTemplate, Result, Series, Window

MAX_POINTS = 600
"""Points of a series that a query shows."""

SNAPSHOT_POINTS = 140
"""Points of a series in a snapshot: enough for twenty in a window that is a seventh of the whole."""

HISTORY_POINTS, HISTORY_REQUESTS = 240, 2
"""Points of a series, and requests, of a look further back."""

MAX_SERIES = 50


@dataclass(frozen=True, slots=True)
class _Measure:
    """How a series is judged: what a query's first reading says of it. ``noise_floor`` is None where nothing declares one."""

    metric: str
    unit: str
    direction: Direction
    noise_floor: float | None
    absent_is_zero: bool = False


class Prometheus:
    """The ``prometheus`` tool."""

    title = "Prometheus"
    page = staticmethod(links.prometheus_graph)
    """Its own page, by base address, PromQL and time."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """``spec.metrics`` is what a snapshot reads, and the noise floor of each."""
        self.name = spec.name
        self.retrospective = True
        self.spec = spec
        self.backend = backend
        self.limits = limits
        self._fetch = Fetcher(spec.name, backend, limits)
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._profiles = Profiles(backend)
        self._imported = ImportedQuestions(spec.templates)
        self._open = OpenMetrics()
        self._left_out: dict[str, tuple[str, ...]] = {}

    def ping(self) -> str:
        """Its version."""
        answer = self._fetch.get("/api/v1/status/buildinfo", {})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("version"), str):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Prometheus; is its url right?")
        return f"{self.title} {data['version']}"

    def discover(self, project: str, *, refresh: bool = False) -> Profile:
        """What this Prometheus holds of a system; ``SourceError`` when it does not say."""
        return self._profiles.current(project, self._fetch, refresh=refresh)

    def cadence(self, project: str) -> Cadence:
        """How often it scrapes."""
        return self.discover(project).cadence

    def snapshot(self, scope: Scope) -> Evidence:
        """Every signal that is there, of all entities at once, with about ``REQUESTS`` range queries."""
        profile = self.discover(scope.project)
        step_s = profile.step_s(scope.window.end - scope.baseline.start, SNAPSHOT_POINTS)
        wanted = readings(profile, self.spec.metrics, scope, step_s)
        ask = self._asker(scope, step_s)
        found, self._left_out[scope.project] = read(ask, wanted, profile)
        own = self._imported.read(ask, profile, step_s, scope)
        far = self._open.read(self._instant, ask, profile, step_s, scope)
        there = {s.metric for s in found}

        def again(where: Scope) -> tuple[Series, ...]:
            ask = self._asker(where, step_s)
            known = reread(ask, [r for r in wanted if r.metric in there], profile, earlier.REQUESTS)
            return (*known, *reread_open(ask, [OpenSeries.of(s.entity.name) for s in far], profile, step_s, scope))

        every = (*with_earlier((*found, *far), again, scope, self.limits.seconds), *own)
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({s.entity for s in every})),
            series=every,
        )

    def user_facing(self, project: str, span: Window) -> tuple[Series, ...]:
        """The signals of ``onset.USER_FACING`` that are there, with ``HISTORY_REQUESTS`` range queries."""
        profile = self.discover(project)
        scope = Scope(project, Window(span.end, span.end), span)
        step_s = profile.step_s(span.seconds, HISTORY_POINTS)
        wanted = [r for r in readings(profile, (), scope, step_s) if r.metric in USER_FACING]
        if not wanted:
            return ()
        return read(self._asker(scope, step_s), wanted, profile, HISTORY_REQUESTS)[0]

    def render(self, query: Query, scope: Scope) -> str:
        """PromQL, in the conventions that were found last, else in those of the bundled incidents."""
        profile = self._profile(scope)
        return promql.render(query, scope, profile, self._step_s(profile, scope))

    def link(self, query: Query, scope: Scope) -> str | None:
        """Grafana Explore where one is set, else its own page; both end where the window ends."""
        whole = Window(scope.baseline.start, scope.window.end)
        if self.backend.grafana and self.backend.datasource:
            return links.grafana_explore(self.backend.grafana, self.backend.datasource, self.render(query, scope), whole)
        if not self.backend.link:
            return None
        return self.page(self.backend.link, self.render(query, scope), whole)

    def run(self, query: Query, scope: Scope) -> Result:
        """The series over baseline and window; the furthest of them gives the signal."""
        text, step_s = self.render(query, scope), self._step_s(self._profile(scope), scope)
        measure = _measure(self.spec, query.template)
        entity = _about(query)

        def look(where: Scope) -> tuple[Series, ...]:
            answers = [a for a in self._range(text, where, step_s) if a.times]
            return tuple(Series(entity, _series_name(a.labels, measure.metric), measure.unit, a.times, a.values) for a in answers)

        series = look(scope)
        if not series:
            return Result("no such series in this time", 0.0, "nothing was measured", kind="series")
        if any(signal(_distance(s, measure, scope)) for s in series):
            series = with_earlier(series, look, scope, self.limits.seconds)
        judged = sorted(((_distance(s, measure, scope), s) for s in series), key=lambda pair: -pair[0])
        kept = tuple(s for _, s in judged[:MAX_SERIES])
        distance, worst = judged[0]
        words = _deployed(worst, series, scope) if measure.unit == "versions" else _compare(worst, measure, scope)
        return Result(
            summary=words,
            signal=signal(distance),
            reason=_reason(distance, worst, measure, scope),
            series=kept,
            kind="series",
            truncated=len(series) > len(kept),
        )

    def notes(self, project: str) -> tuple[str, ...]:
        """What discovery and the last snapshot could not read, or not all of."""
        known = self._profiles.known(project)
        left_out = (*self._left_out.get(project, ()), *([self._open.note] if self._open.note else []))
        return (*(known.notes if known else ()), *left_out)

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    def _profile(self, scope: Scope) -> Profile:
        return self._profiles.known(scope.project) or recorded_profile()

    def _step_s(self, profile: Profile, scope: Scope) -> float:
        return profile.step_s(scope.window.end - scope.baseline.start, MAX_POINTS)

    def _instant(self, text: str, at: float) -> list[tuple[dict[str, str], float]]:
        form = {"query": text, "time": f"{at:.3f}", "timeout": f"{self.limits.seconds:g}s"}
        with self._slots:
            return vector(self.name, self._fetch.post("/api/v1/query", form))

    def _asker(self, scope: Scope, step_s: float) -> Range:
        return lambda text: self._range(text, scope, step_s)

    def _range(self, text: str, scope: Scope, step_s: float) -> list[Answer]:
        """Series on a grid that all signals share; points that are not numbers are left out."""
        start = math.ceil(scope.baseline.start / step_s) * step_s
        form = {
            "query": text,
            "start": f"{start:.3f}",
            "end": f"{scope.window.end:.3f}",
            "step": f"{step_s:g}",
            "timeout": f"{self.limits.seconds:g}s",
        }
        with self._slots:
            answer = self._fetch.post("/api/v1/query_range", form)
        return matrix(self.name, answer)


def strength(spec: ToolSpec, template: QueryTemplate, series: Iterable[Series], scope: Scope) -> float:
    """The signal of a template's series by the catalog as it is now: of those just read, or of recorded ones."""
    measure = _measure(spec, template)
    return signal(max((_distance(s, measure, scope) for s in series), default=0.0))


def _measure(spec: ToolSpec, template: QueryTemplate) -> _Measure:
    reading = next((r for r in template.reads if r.source == "series"), None)
    if reading is None:
        return _Measure("value", "", "both", 0.0)
    metric = next((m for m in spec.metrics if m.name == reading.metric), None)
    if metric is None:
        return _Measure(reading.metric, "", reading.direction, None)
    return _Measure(reading.metric, metric.unit, reading.direction, metric.noise_floor, metric.absent_is_zero)


def _distance(series: Series, measure: _Measure, scope: Scope) -> float:
    before, now = split(series.times, series.values, scope.baseline, scope.window)
    if not before and measure.absent_is_zero:
        before = [0.0]
    floor = own_floor([*before, *now]) if measure.noise_floor is None else measure.noise_floor
    return deviation(before, now, measure.direction, floor, series.earlier)


def _reason(distance: float, series: Series, measure: _Measure, scope: Scope) -> str:
    if not signal(distance) and signal(_distance(replace(series, earlier=()), measure, scope)):
        return "no anomaly: it is so at this hour of earlier days"
    return explain(distance, series.metric)


def _about(query: Query) -> Entity:
    bound = dict(query.bindings)
    if "service" in bound and "peer" in bound:
        return Entity("edge", f"{bound['service']}->{bound['peer']}")
    return next(iter(query.entities), Entity("system", query.template.id))


def _series_name(labels: dict[str, str], metric: str) -> str:
    told = " ".join(v for k, v in sorted(labels.items()) if v and k not in ("project", "service", "container", "job", "__name__"))
    return f"{metric} {told}" if told else metric


def _deployed(series: Series, every: Sequence[Series], scope: Scope) -> str:
    """The version that a series counts, and the one before it; ``series`` are named by metric and version."""

    def in_baseline(one: Series) -> bool:
        return any(split(one.times, one.values, scope.baseline, scope.window)[0])

    version, old = _version(series), ", ".join(_version(s) for s in every if s is not series and in_baseline(s))
    if in_baseline(series):
        return f"{version} running, not changed"
    return f"{version} deployed (was {old or 'unknown'})"


def _version(series: Series) -> str:
    return series.metric.partition(" ")[2] or "unknown version"


def _compare(series: Series, measure: _Measure, scope: Scope) -> str:
    before, now = levels(*split(series.times, series.values, scope.baseline, scope.window))
    if now is None:
        return f"{series.metric}: nothing was measured in the window"
    was = "not present before" if before is None else f"{format_value(before, measure.unit)} before"
    return f"{series.metric}: {format_value(now, measure.unit)} now, {was}"
