"""Prometheus: figures over time, through its HTTP API."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.catalog import ToolSpec
from revelio.catalog.conventions import Cadence, Profile, recorded_profile
from revelio.catalog.presence import is_presence, off, sigma
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.anomaly import deviation, explain, levels, own_floor, signal, split
from revelio.support.numbers import format_value
from revelio.support.onset import USER_FACING
from revelio.tools import links
from revelio.tools.base import Limits, Scope
from revelio.tools.discovery.store import Profiles
from revelio.tools.fetch import Fetcher
from revelio.tools.history import History, observed
from revelio.tools.prometheus import earlier, promql
from revelio.tools.prometheus.answers import PromSeries, matrix, vector
from revelio.tools.prometheus.earlier import with_earlier
from revelio.tools.prometheus.imported import ImportedSeries
from revelio.tools.prometheus.open_metrics import OpenMetrics
from revelio.tools.prometheus.open_metrics import reread as reread_open
from revelio.tools.prometheus.open_series import OpenSeries
from revelio.tools.prometheus.snapshot import AT_ONCE, Range, SnapshotQuery, read, readings, reread, zero_filled
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Alias, Direction, Entity, Evidence, Query, QueryTemplate, Result, Series, Window

MAX_POINTS = 600
"""Points of a series that a query shows."""

SNAPSHOT_POINTS = 140
"""Points of a series in a snapshot: enough for twenty in a window that is a seventh of the whole."""

HISTORY_POINTS, HISTORY_REQUESTS = 240, 2
"""Points of a series, and requests, of a look further back."""

MAX_SERIES = 50

_LATE = 2.0
"""Steps by which the first measurement may come after the start of the baseline."""

_SCOPES, _SCOPES_S = 64, 600.0
"""Scopes of which it is kept, and for how many seconds, since when they were measured."""


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
        self._imported = ImportedSeries(spec.templates)
        self._open = OpenMetrics()
        self._since: SingleFlightCache[float | None] = SingleFlightCache(_SCOPES, _SCOPES_S)
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
        found = self._each_scrape(zero_filled(found), wanted, profile, step_s, scope)
        own = self._imported.read(ask, profile, step_s, scope)
        far = self._open.read(self._instant, ask, profile, step_s, scope)
        there = {s.metric for s in found}

        profile = self._open.knowing(profile)

        def again(where: Scope) -> tuple[Series, ...]:
            ask = self._asker(where, step_s)
            known = reread(ask, [r for r in wanted if r.metric in there], profile, earlier.REQUESTS)
            return (*known, *reread_open(ask, [OpenSeries.of(s.entity.name) for s in far], profile, step_s, scope))

        every = (*with_earlier((*found, *far), again, scope, self.limits.seconds), *own)
        self._since.put(f"{scope}", min((s.times[0] for s in found if s.times), default=None))
        return Evidence(
            window=scope.window,
            baseline=self._observed(scope, step_s).baseline,
            entities=tuple(sorted({s.entity for s in every})),
            series=every,
            aliases=tuple(Alias(Entity("container", own), name) for name, own in profile.identity.also),
        )

    def _each_scrape(
        self, found: Sequence[Series], wanted: Sequence[SnapshotQuery], profile: Profile, step_s: float, scope: Scope
    ) -> tuple[Series, ...]:
        """The series, those of presence with every scrape of the window: what is on or off must not fall between two points."""
        there = {s.metric for s in found if is_presence(s.metric)}
        if not there or step_s <= profile.cadence.scrape_s:
            return tuple(found)
        ask = self._asker(
            Scope(scope.project, scope.window, Window(scope.window.start, scope.window.start)), profile.cadence.scrape_s
        )
        try:
            close = {(s.entity, s.metric): s for s in reread(ask, [r for r in wanted if r.metric in there], profile, 1)}
        except SourceError:  # the points that are there will do
            return tuple(found)
        return tuple(_with_window(s, close.get((s.entity, s.metric)), scope.window) for s in found)

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
        if not all(split(s.times, s.values, scope.baseline, scope.window)[0] for s in series):
            scope = self._observed(scope, step_s)
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

    def _observed(self, scope: Scope, step_s: float) -> Scope:
        """The scope with that part of its baseline in which it measured anything."""
        since = self._since.get_or_call(f"{scope}", lambda: self._measured_since(scope, step_s))
        late = since is not None and since > scope.baseline.start + _LATE * step_s
        return observed(scope, History(since)) if late else scope

    def _measured_since(self, scope: Scope, step_s: float) -> float | None:
        """When its first scrape in baseline and window was; None where it does not scrape itself."""
        try:
            return min((a.times[0] for a in self._range("count(up)", scope, step_s) if a.times), default=None)
        except SourceError:
            return None

    def _profile(self, scope: Scope) -> Profile:
        return self._open.knowing(self._profiles.known(scope.project) or recorded_profile())

    def _step_s(self, profile: Profile, scope: Scope) -> float:
        return profile.step_s(scope.window.end - scope.baseline.start, MAX_POINTS)

    def _instant(self, text: str, at: float) -> list[tuple[dict[str, str], float]]:
        form = {"query": text, "time": f"{at:.3f}", "timeout": f"{self.limits.seconds:g}s"}
        with self._slots:
            return vector(self.name, self._fetch.post("/api/v1/query", form))

    def _asker(self, scope: Scope, step_s: float) -> Range:
        return lambda text: self._range(text, scope, step_s)

    def _range(self, text: str, scope: Scope, step_s: float) -> list[PromSeries]:
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


def _with_window(series: Series, close: Series | None, window: Window) -> Series:
    """A series whose points in the window are those of a closer look."""
    if close is None:
        return series
    points = [(t, v) for t, v in zip(series.times, series.values, strict=True) if t < window.start]
    points += zip(close.times, close.values, strict=True)
    return replace(series, times=tuple(t for t, _ in points), values=tuple(v for _, v in points))


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
    if is_presence(measure.metric):
        return sigma(_off(series, measure, scope))
    before, now = split(series.times, series.values, scope.baseline, scope.window)
    if not before and measure.absent_is_zero:  # as many zeros as there would be values, none where nothing was measured
        before = [0.0] * math.ceil(len(now) * scope.baseline.seconds / max(scope.window.seconds, 1e-9))
    floor = own_floor([*before, *now]) if measure.noise_floor is None else measure.noise_floor
    return deviation(before, now, measure.direction, floor, series.earlier)


def _reason(distance: float, series: Series, measure: _Measure, scope: Scope) -> str:
    if not signal(distance) and signal(_distance(replace(series, earlier=()), measure, scope)):
        return "no anomaly: it is so at this hour of earlier days"
    name, _, labels = series.metric.partition(" ")
    return explain(distance, f"{name.replace('_', ' ')}{f' ({labels})' if labels else ''}")


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


def _off(series: Series, measure: _Measure, scope: Scope) -> NDArray[np.bool_]:
    return off(replace(series, metric=measure.metric), scope.baseline, scope.window)


def _compare(series: Series, measure: _Measure, scope: Scope) -> str:
    gone = _off(series, measure, scope) if is_presence(measure.metric) else np.zeros(0, dtype=bool)
    if gone.any():
        return (
            f"{series.metric}: down {'now' if gone[-1] else f'in {gone.sum()} of {gone.size} measurements, up again'}, up before"
        )
    before, now = levels(*split(series.times, series.values, scope.baseline, scope.window))
    if now is None:
        return f"{series.metric}: nothing was measured in the window"
    absent = "not present before" if scope.baseline.seconds > 0 else "nothing was measured before"
    was = absent if before is None else f"{format_value(before, measure.unit)} before"
    return f"{series.metric}: {format_value(now, measure.unit)} now, {was}"
