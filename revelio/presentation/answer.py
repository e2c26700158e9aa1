"""The JSON form of an answer, the same for the API and ``--json``. Figures that JSON cannot write (NaN, infinity) become null."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated

from pydantic import BaseModel, Field

from revelio.catalog.aliases import others
from revelio.presentation.cause import CauseKind, cause
from revelio.presentation.evidence_panels import evidence_panels
from revelio.presentation.facts import written
from revelio.presentation.panels import Chart, Groups, Table, Timeline, Tree, Waterfall
from revelio.types import (
    Cell,
    ColumnRole,
    Evidence,
    Outcome,
    RankedQuery,
    Recommendation,
    Result,
    ResultKind,
    Series,
    Span,
    Window,
    fill,
)
from revelio.types.question_time import QuestionTime, TimeBasis


class WindowView(BaseModel):
    """A span of time in Unix seconds."""

    start: float
    end: float


class SeriesView(BaseModel):
    """One metric of one entity over baseline and window."""

    entity: str
    kind: str
    metric: str
    unit: str
    times: list[float]
    values: list[float | None]


class SpanView(BaseModel):
    """One span of a trace."""

    id: str
    parent: str | None
    service: str
    operation: str
    start: float
    duration_ms: float
    error: bool


class ResultView(BaseModel):
    """What running a query showed."""

    kind: ResultKind = Field(description="What it is, which decides how it is drawn")
    error: str | None = Field(description="Why the query could not be run; null when it was")
    summary: str
    signal: float | None = Field(description="Anomaly score in [0, 1]; null when the query could not be run")
    reason: str
    columns: list[str]
    roles: list[ColumnRole] = Field(description="What each column holds, whatever its title; empty where nothing is known")
    measure: str = Field(description="What `now` and `before` of flows measure")
    rows: list[list[Cell]]
    series: list[SeriesView]
    spans: list[SpanView]
    truncated: bool
    took_ms: float
    panels: list[Annotated[Chart | Groups | Timeline | Tree | Waterfall, Field(discriminator="kind")]] = Field(
        description="Where asked for, the same to look at: charts, groups before and now, timelines, trees, a trace"
    )


class FactorView(BaseModel):
    """One conditional probability of the product, with the facts that weighed most."""

    name: str
    log_probability: float | None
    because: list[str]


class MoveView(BaseModel):
    """How results moved a query."""

    before: int = Field(description="Its place before any query was run, from 1")
    because: str = Field(description="Why it stands where it stands, in words")


class OriginView(BaseModel):
    """Whose question an imported query is."""

    credit: str
    url: str = Field(description="Back to it; empty where there is no address")


class QueryView(BaseModel):
    """One ranked query."""

    id: str
    rank: int
    probability: float = Field(description="That this query shows the cause, if there is a fault (`no_fault_probability`)")
    tool: str
    source: str = Field("", description="The title of what answers it, where its tool's does not say it: Loki, say, or two Lokis")
    template: str
    title: str
    shows: str
    bindings: dict[str, str]
    also: dict[str, list[str]] = Field({}, description="By the name of a target, what else sources call it")
    text: str = Field(description="The query in the tool's own language")
    link: str | None
    origin: OriginView | None = Field(None, description="Of a query that was imported from your rules, dashboards or runbooks")
    factors: list[FactorView]
    result: ResultView | None
    moved: MoveView | None = Field(None, description="Where the answer was asked for in the order of what came back")


class AbstainView(BaseModel):
    """The probability of no fault, in its first form; kept for older clients."""

    probability: float


class OnsetView(BaseModel):
    """When a user-facing signal left its own past; times in Unix seconds, ``before`` and ``after`` in ``unit``."""

    at: float
    until: float | None = Field(description="When it came back; null while it lasts")
    component: str
    signal: str
    unit: str
    before: float | None
    after: float | None
    sigma: float | None = Field(description="Deviation in σ of the values before")


class ProposedTimeView(BaseModel):
    """A time that was found and not applied; ``since``, ``at`` (Unix seconds) and ``window_s`` ask about it."""

    words: str
    unsure: str = Field(description="Why it was not applied")
    since: float | None
    at: float | None
    window_s: float | None


class TimeView(BaseModel):
    """What the window of an answer goes by."""

    basis: TimeBasis = Field(description="What chose the window: the question, the report, the onset, or the usual length")
    words: str = Field(description="The words of the report that were applied")
    onset: OnsetView | None
    proposals: list[ProposedTimeView]


class CauseView(BaseModel):
    """What the answer says, in one sentence."""

    kind: CauseKind = Field(
        description="`untested`: no result shows a cause yet; `no_fault` and `no_evidence` name none either", examples=["fault"]
    )
    sentence: str = Field(description="What happened to what, from which value to which, since when; times of day are in UTC")
    next_step: str = Field(description="The one thing to do next")
    components: list[str] = Field(description="What looks wrong, or where to look first")
    since: float | None = Field(description="When it began, in Unix seconds; null where that is not known")


class RecommendationView(BaseModel):
    """The ranked queries for one report."""

    id: str
    model: str
    system: str
    incident: str | None = Field(description="The recorded incident that was asked about; null when asked live")
    report: str
    opened_at: float
    window: WindowView
    baseline: WindowView
    time: TimeView = Field(description="What the window goes by, when the problem began, and other times to ask about")
    cause: CauseView = Field(description="The cause in a sentence, from evidence and results so far")
    no_fault_probability: float = Field(description="Probability that the evidence shows no fault")
    abstain: AbstainView = Field(description="Deprecated: use `no_fault_probability`", json_schema_extra={"deprecated": True})
    outcome: Outcome = Field(
        description="`fault`: something points at one; `no_fault`: probably none; `no_evidence`: too little data to tell"
    )
    degraded: list[str] = Field(description="Sources that did not answer")
    not_asked: list[str] = Field(description="Sentences on the questions that could not be asked there, and why")
    report_effect: str = Field(description="A sentence on what the report changed; empty where that is not known")
    queries: list[QueryView]
    took_ms: float


def recommendation_json(
    recommendation_id: str, recommendation: Recommendation, *, recorded: str | None = None, panels: bool = False
) -> RecommendationView:
    """The view of a recommendation; ``recorded`` is the id of the recorded incident that was asked about, if one was.

    With ``panels`` each result also says how it is drawn.
    """
    incident = recommendation.incident
    return RecommendationView(
        id=recommendation_id,
        model=recommendation.model,
        system=incident.system,
        incident=recorded,
        report=incident.report,
        opened_at=incident.opened_at,
        window=_window(incident.evidence.window),
        baseline=_window(incident.evidence.baseline),
        time=_time(recommendation.time),
        cause=_cause(recommendation),
        no_fault_probability=recommendation.no_fault_probability,
        abstain=AbstainView(probability=recommendation.no_fault_probability),
        outcome=recommendation.outcome,
        degraded=list(recommendation.degraded),
        not_asked=list(recommendation.not_asked),
        report_effect=recommendation.report_effect,
        queries=[query_view(q, incident.evidence, panels=panels) for q in recommendation.queries],
        took_ms=recommendation.took_ms,
    )


def query_view(ranked: RankedQuery, evidence: Evidence, *, panels: bool = False) -> QueryView:
    """The view of one ranked query and of its result in the window of the evidence that it was ranked by."""
    template = ranked.query.template
    return QueryView(
        id=ranked.query.id,
        rank=ranked.rank,
        probability=ranked.probability,
        tool=template.tool,
        source=ranked.source,
        template=template.id,
        title=ranked.query.title,
        shows=fill(template.shows, ranked.query.bindings),
        bindings=dict(ranked.query.bindings),
        also={name: list(found) for _, name in ranked.query.bindings if (found := others(evidence, name))},
        text=ranked.text,
        link=ranked.link,
        origin=OriginView(credit=template.origin.credit, url=template.origin.url) if template.origin else None,
        factors=[
            FactorView(name=f.name, log_probability=_finite(f.log_probability), because=list(f.because)) for f in ranked.factors
        ],
        result=result_view(ranked.result, evidence, panels=panels) if ranked.result else None,
    )


def result_view(result: Result, evidence: Evidence, *, panels: bool = False) -> ResultView:
    """The view of a result; ``evidence`` is that in whose window it was run."""
    shown = evidence_panels(result, evidence)
    return ResultView(
        kind=result.kind,
        error=result.error,
        summary=shown.summary if result.error is None else f"Not run: {result.error}",
        signal=result.signal if result.error is None else None,
        reason=result.reason,
        columns=list(result.columns),
        roles=list(result.roles),
        measure=result.measure,
        rows=[[_cell(c) for c in row] for row in result.rows],
        series=[_series(s) for s in result.series],
        spans=[_span(s) for s in result.spans],
        truncated=result.truncated,
        took_ms=result.took_ms,
        panels=[panel for panel in (shown.panels if panels else ()) if not isinstance(panel, Table)],
    )


def _cause(recommendation: Recommendation) -> CauseView:
    said = cause(recommendation)
    return CauseView(
        kind=said.kind,
        sentence=written(said.words),
        next_step=said.step,
        components=list(said.components),
        since=said.since,
    )


def _time(time: QuestionTime) -> TimeView:
    onset = time.onset and OnsetView(**{k: _finite(v) if isinstance(v, float) else v for k, v in asdict(time.onset).items()})
    return TimeView(
        basis=time.basis, words=time.words, onset=onset, proposals=[ProposedTimeView(**asdict(p)) for p in time.proposals]
    )


def _window(window: Window) -> WindowView:
    return WindowView(start=window.start, end=window.end)


def _series(series: Series) -> SeriesView:
    return SeriesView(
        entity=series.entity.name,
        kind=series.entity.kind,
        metric=series.metric,
        unit=series.unit,
        times=list(series.times),
        values=[_finite(v) for v in series.values],
    )


def _span(span: Span) -> SpanView:
    return SpanView(
        id=span.id,
        parent=span.parent,
        service=span.service,
        operation=span.operation,
        start=span.start,
        duration_ms=span.duration_ms,
        error=span.error,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cell(cell: Cell) -> Cell:
    return _finite(cell) if isinstance(cell, float) else cell
