"""What the tools saw: entities, series, logs, spans and changes of a window and of the baseline before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["series", "logs", "spans", "changes", "features"]


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """Something a query can be about. An ``edge`` is named ``caller->callee``, an ``operation`` ``service: name``."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of time ``[start, end)``."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one entity over baseline and window; ``times`` and ``values`` have the same length.

    ``earlier`` are its values in the same window a day and a week before, of those that the store still holds.
    """

    entity: Entity
    metric: str
    unit: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    earlier: tuple[tuple[float, ...], ...] = ()

    # Values that are not finite are read as missing, and stored as they are; no other figure of an incident may be.
    __pydantic_config__ = {"allow_inf_nan": True, "ser_json_inf_nan": "constants"}  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class LogPattern:
    """Log lines of one entity that differ only in their variable parts, with their counts in window and baseline."""

    entity: Entity
    level: str
    pattern: str
    count: int
    baseline_count: int
    first_seen: float
    example: str = ""


@dataclass(frozen=True, slots=True)
class SpanFigures:
    """Statistics of the spans of one operation in one window. ``self_ms`` is the mean time outside child spans."""

    count: int = 0
    errors: int = 0
    median_ms: float = 0.0
    p95_ms: float = 0.0
    self_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SpanStat:
    """Spans of one operation (``entity``) or one caller->callee edge, now and in the baseline."""

    entity: Entity
    service: str
    now: SpanFigures
    before: SpanFigures
    first_error_at: float | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A discrete change: a container stopped, a limit or an image changed, an alert fired."""

    entity: Entity
    at: float
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Feature:
    """A summary feature of an entity, for systems whose raw telemetry is not available.

    Without a ``baseline`` it is compared with the same feature of other entities; without those it is read as a deviation
    in σ.
    """

    entity: Entity
    name: str
    value: float
    baseline: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class Alias:
    """Another name of an entity: what ``source`` calls it, or of a component what it is also known by where that is ""."""

    entity: Entity
    name: str
    source: str = ""


_FELT = frozenset({"service", "edge", "backend", "probe"})
"""Kinds of entities whose figures users feel."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A snapshot of all tools. ``missing`` names the sources that did not answer: unavailable is not the same as empty.

    ``sources`` are those that did; where they are known, a query is a candidate only if this evidence holds what it reads.
    Recordings that do not say are taken to have had every source. ``history`` says since when (Unix seconds) a kind of
    evidence was observed, of those that were not through the whole baseline: before that there was no figure, which is not 0.
    ``aliases`` are other names of its components.
    """

    window: Window
    baseline: Window
    entities: tuple[Entity, ...] = ()
    series: tuple[Series, ...] = ()
    logs: tuple[LogPattern, ...] = ()
    spans: tuple[SpanStat, ...] = ()
    changes: tuple[StateChange, ...] = ()
    features: tuple[Feature, ...] = ()
    missing: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None
    history: tuple[tuple[Source, float], ...] = ()
    aliases: tuple[Alias, ...] = ()

    def baseline_of(self, source: Source) -> Window:
        """The part of the baseline in which this kind of evidence was observed; of length 0 where it was not."""
        since = dict(self.history).get(source, self.baseline.start)
        return Window(min(max(since, self.baseline.start), self.baseline.end), self.baseline.end)

    @property
    def shows(self) -> bool:
        """Whether any tool returned data, normal or not."""
        return any((self.series, self.logs, self.spans, self.changes, self.features))

    @property
    def blind(self) -> bool:
        """Whether sources answered and none told anything that users feel: no request, call, trace or log line."""
        felt = any(s.entity.kind in _FELT for s in self.series) or self.spans or self.logs or self.features
        return self.sources is not None and not felt

    @property
    def mostly_missing(self) -> bool:
        """Whether more sources were silent than answered."""
        return self.sources is not None and len(self.missing) > len(self.sources)
