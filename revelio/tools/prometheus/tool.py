"""Prometheus: figures over time, through its HTTP API."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from revelio.anomaly import deviation, signal, split
from revelio.catalog import Metric, ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.telemetry import Workers
from revelio.tools import links
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher
from revelio.tools.figures import plain
from revelio.tools.prometheus import promql
from revelio.types import Direction, Entity, Evidence, Query, QueryTemplate, Result, Series, Window

STEP_S = 2.0
"""Distance of points, in seconds; longer where a series would have more than ``MAX_POINTS``."""

MAX_POINTS = 600
MAX_SERIES = 50
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Answer:
    labels: dict[str, str]
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Measure:
    """How a series is judged: what a query's first reading says of it."""

    metric: str
    unit: str
    direction: Direction
    noise_floor: float
    absent_is_zero: bool = False


_MATRIX = TypeAdapter(list[tuple[dict[str, str], list[tuple[float, str]]]])


class Prometheus:
    """The ``prometheus`` tool."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """``spec.metrics`` is what a snapshot reads, and the noise floor of each."""
        self.name = spec.name
        self.retrospective = True
        self.spec = spec
        self.backend = backend
        self.limits = limits
        self._fetch = Fetcher(spec.name, backend.url, limits)
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    def ping(self) -> str:
        """Its version."""
        answer = self._fetch.get("/api/v1/status/buildinfo", {})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("version"), str):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Prometheus; is its url right?")
        return f"Prometheus {data['version']}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Every metric of the catalog for all entities at once: one range query a metric."""
        with Workers(max_workers=_AT_ONCE) as pool:
            found = tuple(s for part in pool.map(lambda m: self._glance(m, scope), self.spec.metrics) for s in part)
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({s.entity for s in found})),
            series=found,
        )

    def render(self, query: Query, scope: Scope) -> str:
        """PromQL."""
        return promql.render(query, scope)

    def link(self, query: Query, scope: Scope) -> str | None:
        """Grafana Explore where one is set, else Prometheus' own graph page; both end where the window ends."""
        whole = Window(scope.baseline.start, scope.window.end)
        if self.backend.grafana and self.backend.datasource:
            return links.grafana_explore(self.backend.grafana, self.backend.datasource, self.render(query, scope), whole)
        if not self.backend.link:
            return None
        return links.prometheus_graph(self.backend.link, self.render(query, scope), whole)

    def run(self, query: Query, scope: Scope) -> Result:
        """The series over baseline and window; the furthest of them gives the signal."""
        answers = self._range(self.render(query, scope), scope)
        measure = _measure(self.spec, query.template)
        entity = _about(query)
        series = tuple(
            Series(entity, _series_name(a.labels, measure.metric), measure.unit, a.times, a.values) for a in answers if a.times
        )
        if not series:
            return Result("no such series in this time", 0.0, "nothing was measured", kind="series")
        judged = sorted(((_distance(s, measure, scope), s) for s in series), key=lambda pair: -pair[0])
        kept = tuple(s for _, s in judged[:MAX_SERIES])
        distance, worst = judged[0]
        words = _compare(worst, measure, scope)
        return Result(
            summary=words,
            signal=signal(distance),
            reason=f"{worst.metric} is {distance:.1f} spreads from its baseline" if distance > 0 else "as in the baseline",
            series=kept,
            kind="series",
            truncated=len(series) > len(kept),
        )

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    def _glance(self, metric: Metric, scope: Scope) -> list[Series]:
        text = promql.render(Query(QueryTemplate(metric.name, self.name, metric.name, "", metric.query)), scope)
        return [
            Series(Entity(metric.entity, a.labels[metric.label]), metric.name, metric.unit, a.times, a.values)
            for a in self._range(text, scope)
            if a.labels.get(metric.label) and a.times
        ]

    def _range(self, text: str, scope: Scope) -> list[_Answer]:
        """Series on a grid that all metrics share; points that are not numbers are left out."""
        length = scope.window.end - scope.baseline.start
        step = max(STEP_S, math.ceil(length / MAX_POINTS))
        start = math.ceil(scope.baseline.start / step) * step
        form = {
            "query": text,
            "start": f"{start:.3f}",
            "end": f"{scope.window.end:.3f}",
            "step": f"{step:g}",
            "timeout": f"{self.limits.seconds:g}s",
        }
        with self._slots:
            answer = self._fetch.post("/api/v1/query_range", form)
        return self._matrix(answer)

    def _matrix(self, answer: object) -> list[_Answer]:
        try:
            if not isinstance(answer, dict) or answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
                raise SourceError(self.name, "did not answer with series; is its url right?")
            found = _MATRIX.validate_python([(r["metric"], r["values"]) for r in answer["data"]["result"]])
            return [_points(labels, points) for labels, points in found]
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise SourceError(self.name, f"answered in a form that is not Prometheus': {type(error).__name__}") from error


def _points(labels: dict[str, str], points: list[tuple[float, str]]) -> _Answer:
    kept = [(t, v) for t, text in points if math.isfinite(t) and math.isfinite(v := float(text))]
    return _Answer(labels, tuple(t for t, _ in kept), tuple(v for _, v in kept))


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
        return _Measure(reading.metric, "", reading.direction, 0.0)
    return _Measure(reading.metric, metric.unit, reading.direction, metric.noise_floor, metric.absent_is_zero)


def _distance(series: Series, measure: _Measure, scope: Scope) -> float:
    before, now = split(series.times, series.values, scope.baseline, scope.window)
    if not before and measure.absent_is_zero:
        before = [0.0]
    return deviation(before, now, measure.direction, measure.noise_floor)


def _about(query: Query) -> Entity:
    bound = dict(query.bindings)
    if "service" in bound and "peer" in bound:
        return Entity("edge", f"{bound['service']}->{bound['peer']}")
    return next(iter(query.entities), Entity("system", query.template.id))


def _series_name(labels: dict[str, str], metric: str) -> str:
    told = " ".join(v for k, v in sorted(labels.items()) if v and k not in ("project", "service", "container", "job", "__name__"))
    return f"{metric} {told}" if told else metric


def _compare(series: Series, measure: _Measure, scope: Scope) -> str:
    before, now = split(series.times, series.values, scope.baseline, scope.window)
    if not now:
        return f"{series.metric}: nothing was measured in the window"
    was = f"{plain(sum(before) / len(before), measure.unit)} before" if before else "absent before"
    return f"{series.metric}: {plain(sum(now) / len(now), measure.unit)} now, {was}"
