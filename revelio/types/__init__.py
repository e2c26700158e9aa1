"""The nouns. Frozen values, standard library only; times are Unix seconds, durations milliseconds unless named otherwise."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Literal

from revelio.types.question_time import QuestionTime

Cell = str | int | float | bool | None
Direction = Literal["up", "down", "both"]
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


@dataclass(frozen=True, slots=True)
class Blank:
    """A typed placeholder of a template: it takes the name of an existing entity of that kind."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Which part of the snapshot comes closest to what running a template returns.

    ``source`` is ``series``, ``logs``, ``spans``, ``changes`` or ``features``; ``metric`` names the series, span figure,
    log level, changed field or feature; ``direction`` is the bad one.
    """

    source: Source
    metric: str
    direction: Direction = "up"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose question a template is: ``credit`` in words, ``url`` back to it, "" where there is none."""

    credit: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A query of one tool with ``${name}`` placeholders in ``body``, whose syntax is that of the tool.

    One that was imported from a team's own rules, dashboards or runbooks has an ``origin``.
    """

    id: str
    tool: str
    title: str
    shows: str
    body: str
    blanks: tuple[Blank, ...] = ()
    reads: tuple[Reading, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A template with its blanks bound: a candidate is just a query. Bindings are sorted (blank, entity name) pairs."""

    template: QueryTemplate
    bindings: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Stable across processes: the template's id and 8 hex digits of its bindings."""
        digest = hashlib.sha256(json.dumps(self.bindings, ensure_ascii=False).encode()).hexdigest()[:8]
        return f"{self.template.id}-{digest}"

    @property
    def title(self) -> str:
        """The template's title with its blanks filled."""
        return fill(self.template.title, self.bindings)

    @property
    def body(self) -> str:
        """The template's body with its blanks filled, for people to read."""
        return fill(self.template.body, self.bindings).strip()

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities that the query is bound to, in the order of the template's blanks."""
        bound = dict(self.bindings)
        return tuple(Entity(b.kind, bound[b.name]) for b in self.template.blanks if b.name in bound)


def fill(text: str, bindings: tuple[tuple[str, str], ...]) -> str:
    """Put each binding's value where ``${blank}`` stands. For people to read, never for a backend: nothing is escaped."""
    for name, value in bindings:
        text = text.replace("${" + name + "}", value)
    return text


@dataclass(frozen=True, slots=True)
class Span:
    """One span of a trace, for drawing a waterfall."""

    id: str
    parent: str | None
    service: str
    operation: str
    start: float
    duration_ms: float
    error: bool = False


_LogKind = Literal["log_lines", "log_patterns", "exceptions"]
_TraceKind = Literal["operations", "self_time", "spans"]
_StoreKind = Literal["changes", "health_checks", "containers", "sessions", "locks"]
ResultKind = Literal["unspecified", "table", "series", "flows", "name_lookups", _LogKind, _TraceKind, _StoreKind]
"""What a result is, which decides how it is drawn. Only results of older versions are ``unspecified``."""

_Compared = Literal["", "now", "before", "count", "at", "first_seen", "example", "name", "statement"]
_LogRole = Literal["service", "operation", "level", "message", "pattern", "error_type", "origin", "trace_id", "spans"]
_FlowRole = Literal["source", "target", "port", "protocol", "answer"]
_ContainerRole = Literal["container", "field", "old", "new", "passed", "output"]
_LockRole = Literal["pid", "state", "lock", "table", "mode", "granted", "waiters", "transaction_s"]
_WaitRole = Literal["blocked_pid", "blocked", "waited_s", "blocking_pid", "blocking", "blocking_statement"]
ColumnRole = Literal[_Compared, _LogRole, _FlowRole, _ContainerRole, _LockRole, _WaitRole]
"""What a column holds, whatever its title; "" where only the table shows it."""

NO_ROLE: ColumnRole = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What running a query returned: a table, series or the spans of one trace, and how strongly it points at a fault.

    ``signal`` lies in [0, 1]; ``reason`` explains it. ``took_ms`` is the time of the backend. ``kind`` says what it is and
    ``roles`` what each column holds; ``columns`` are titles for people only. ``measure`` names what ``now`` and ``before``
    of flows measure. ``error`` says why there is no result; everything else is then empty.
    """

    summary: str
    signal: float
    reason: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    series: tuple[Series, ...] = ()
    spans: tuple[Span, ...] = ()
    truncated: bool = False
    took_ms: float = 0.0
    kind: ResultKind = "unspecified"
    roles: tuple[ColumnRole, ...] = ()
    measure: str = ""
    error: str | None = None

    @classmethod
    def failed(cls, error: str) -> Result:
        """The result of a query that could not be run."""
        return cls("", 0.0, "", kind="table", error=error)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The result that a candidate query had when its incident was recorded.

    ``healthy_signal`` is the signal of the same query on the baseline; None when it was not run, as for a normal ``result``.
    """

    template: str
    bindings: tuple[tuple[str, str], ...]
    result: Result
    healthy_signal: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The signal in [0, 1] that running a query gave: how strongly its result points at a fault."""

    template: str
    bindings: tuple[tuple[str, str], ...]
    signal: float


@dataclass(frozen=True, slots=True)
class Incident:
    """A report and what the tools saw when it came. ``candidates`` given here replace catalog x inventory.

    ``findings`` are what was learned since, by running queries.
    """

    id: str
    system: str
    report: str
    opened_at: float
    evidence: Evidence
    candidates: tuple[Query, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Factor:
    """One conditional probability of the product, with the facts that weighed most."""

    name: str
    log_probability: float
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A query with its place in the ranking. The factors' log-probabilities add up to the log of ``probability``.

    ``source`` is the title of what answers it, where that is not what its tool is named after: Loki, for a question about logs.
    """

    query: Query
    rank: int
    probability: float
    factors: tuple[Factor, ...]
    text: str = ""
    link: str | None = None
    result: Result | None = None
    source: str = ""

    @property
    def answered(self) -> bool:
        """Whether it was run and its backend answered."""
        return self.result is not None and self.result.error is None

    @property
    def anomalous(self) -> bool:
        """Whether it was run, and its result is significant."""
        return self.answered and self.result is not None and self.result.signal >= SIGNIFICANT


SIGNIFICANT = 0.5
"""Signals of results from this value on count as significant."""

NO_FAULT_THRESHOLD = 0.5
"""From this probability of no fault on, an answer says so first."""

NO_FAULT_DESPITE = 0.9
"""From this probability of no fault on, it does so even where a query that was run shows something anomalous."""

Outcome = Literal["fault", "no_fault", "no_evidence"]
"""What an answer says: something points at a fault, probably nothing does, or too little could be seen to tell."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer. ``no_fault_probability``: that the evidence shows no fault; ``degraded`` names sources that did not answer.

    ``not_asked`` says in sentences which questions could not be asked there, and why, ``report_effect`` what the report changed.
    """

    incident: Incident
    queries: tuple[RankedQuery, ...]
    no_fault_probability: float
    model: str
    degraded: tuple[str, ...] = ()
    took_ms: float = 0.0
    not_asked: tuple[str, ...] = ()
    report_effect: str = ""
    time: QuestionTime = field(default_factory=QuestionTime)

    @property
    def outcome(self) -> Outcome:
        """What the answer says, the same everywhere, with what its queries showed when they were run.

        It never calls a system healthy that it mostly could not see, or of which it saw nothing that users feel.
        """
        evidence = self.incident.evidence
        anomalous = any(q.anomalous for q in self.queries)
        unseen = not evidence.shows or evidence.mostly_missing or evidence.blind
        if not self.queries or not (evidence.shows or anomalous):
            return "no_evidence"
        if self.no_fault_probability < (NO_FAULT_DESPITE if anomalous else NO_FAULT_THRESHOLD) or (anomalous and unseen):
            return "fault"
        return "no_evidence" if unseen else "no_fault"

    @property
    def no_fault_likely(self) -> bool:
        """Whether the answer says that there is no fault."""
        return self.outcome == "no_fault"
