"""A small system made by hand: its catalog, one recorded incident, and a stand-in for the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from revelio.catalog import Catalog, load_catalog
from revelio.catalog.candidates import candidates
from revelio.encoders.report import HashingEncoder
from revelio.errors import NotFoundError
from revelio.ranker.head import Head
from revelio.ranker.rank_change import RankChange
from revelio.ranker.recommender import RankedCandidates, Recommender
from revelio.retrieval import IncidentVectors
from revelio.settings import Backend, Settings, SystemSettings
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import FaultRecord, Record, Report, write_records
from revelio.types import (
    Entity,
    Evidence,
    Factor,
    Incident,
    Query,
    RankedQuery,
    RecordedResult,
    Result,
    Series,
    Span,
    SpanFigures,
    SpanStat,
    Window,
)

CATALOG = """
tool: prometheus
title: Prometheus
metrics:
  cpu_throttled:
    query: sum by (container) (rate(container_cpu_cfs_throttled_seconds_total{project="${project}"}[10s]))
    entity: container
    label: container
    unit: s/s
templates:
  - id: prometheus.throttling
    title: CPU throttling of ${container}
    shows: How much of its time ${container} waits because its CPU quota is used up.
    body: rate(container_cpu_cfs_throttled_seconds_total{container="${container}"}[10s])
    blanks: {container: container}
    reads: [{source: series, metric: cpu_throttled}]
---
tool: tempo
title: Tempo
templates:
  - id: tempo.slow_trace
    title: Slowest trace through ${service}
    shows: Where one slow request to ${service} spent its time.
    body: '{ resource.service.name = "${service}" && duration > 500ms }'
    blanks: {service: service}
    reads: [{source: spans, metric: p95_ms}]
---
tool: loki
title: Loki
templates:
  - id: loki.errors
    title: Error lines of ${service}
    shows: What ${service} logged as an error, newest first.
    body: '{service="${service}"} | level = "ERROR"'
    blanks: {service: service}
    reads: [{source: logs, metric: ERROR}]
"""
OPENED = 1_790_000_090.0
WINDOW, BASELINE = Window(OPENED - 30, OPENED), Window(OPENED - 90, OPENED - 30)
REPORT = "the basket page hangs for ages, then it says try again"


def throttling() -> Result:
    """CPU throttling of two containers, one of which jumps when the incident begins."""
    times = tuple(OPENED - 90 + 2.0 * i for i in range(46))
    jump = tuple((0.02 if t < OPENED - 28 else 0.78) + 0.015 * math.sin(t) for t in times)
    calm = tuple(0.015 + 0.01 * math.cos(t / 3) for t in times)
    series = (
        Series(Entity("container", "cart"), "cpu_throttled", "s/s", times, jump),
        Series(Entity("container", "orders"), "cpu_throttled", "s/s", times, (*calm[:10], float("nan"), *calm[11:])),
    )
    return Result(
        "cart was throttled 0.78 s in every second, up from 0.02",
        1.0,
        "51 spreads over its baseline",
        series=series,
        took_ms=12,
        kind="series",
    )


def slow_trace() -> Result:
    """One trace with a failed call three levels down."""
    begin = OPENED - 12
    spans = (
        Span("a", None, "gateway", "GET /api/cart/{id}", begin, 3120.0),
        Span("b", "a", "cart", "GET /cart/{id}", begin + 0.02, 3080.0),
        Span("c", "b", "redis", "HGETALL", begin + 0.05, 4.2),
        Span("d", "b", "products", "GET /products/{id}", begin + 0.4, 2600.0, error=True),
        Span("e", "d", "postgres", "SELECT products", begin + 0.5, 11.0),
        Span("f", "gone", "cart", "log", begin + 3.0, 0.5),
    )
    return Result(
        "3.1 s, of which cart itself 0.5 s", 0.62, "p95 rose from 40 ms to 3.1 s", spans=spans, took_ms=31, kind="spans"
    )


def error_lines() -> Result:
    """Rows, one of which tries to be markup."""
    rows = (
        ("11:40:02", "cart", "could not render basket <script>alert(1)</script>", 3, None),
        ("11:40:07", "cart", "upstream timed out after 3.0 s", 41, True),
    )
    return Result(
        "44 error lines, none before",
        0.9,
        "none in the baseline",
        ("at", "service", "message", "count", "new"),
        rows,
        truncated=True,
        took_ms=8,
        kind="table",
        roles=("",) * 5,
    )


def record(name: str = "shop-0001", report: str = REPORT, missing: tuple[str, ...] = ()) -> Record:
    """A recorded incident with results for the queries about cart."""
    entities = tuple(Entity(kind, n) for n in ("cart", "orders", "products") for kind in ("container", "service"))
    spans = (SpanStat(Entity("operation", "cart: GET /cart"), "cart", SpanFigures(9, 3, 2100.0, 3100.0, 500.0), SpanFigures()),)
    cart = {"container": (("container", "cart"),), "service": (("service", "cart"),)}
    return Record(
        id=name,
        system="shop",
        opened_at=OPENED,
        evidence=Evidence(WINDOW, BASELINE, entities, throttling().series, spans=spans, missing=missing),
        reports=(Report(report, "w1", "shop/cart_view/slow"),),
        results=(
            RecordedResult("prometheus.throttling", cart["container"], throttling()),
            RecordedResult("tempo.slow_trace", cart["service"], slow_trace()),
            RecordedResult("loki.errors", cart["service"], error_lines()),
        ),
        fault=FaultRecord("cpu_quota", "resource", "cart", "hard"),
    )


class StandIn(Recommender):
    """Ranks cart's queries first, with fixed probabilities. Reports that say "all fine" make it abstain."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    @property
    def model(self) -> str:
        return "stand-in-1"

    @cached_property
    def incident_vectors(self) -> IncidentVectors:
        return IncidentVectors(HashingEncoder(), {})

    def with_head(self, head: Head | None, name: str) -> Recommender:
        return self

    def candidates(self, incident: Incident) -> tuple[Query, ...]:
        return candidates(self.catalog, incident.evidence.entities)

    def rank(self, incident: Incident, queries: tuple[Query, ...], k: int = 5) -> RankedCandidates:
        found = sorted(queries, key=lambda q: "cart" not in dict(q.bindings).values())
        facts = ("3 of 9 questions would show something", "a metric of cart rose", "the report speaks of cart", "a fourth fact")
        ranked = tuple(
            RankedQuery(
                query,
                place,
                share,
                (
                    Factor("tool", math.log(share) * 0.5, facts),
                    Factor("template", math.log(share) * 0.3, facts[:1]),
                    Factor("values", math.log(share) * 0.2, facts[1:3]),
                ),
            )
            for place, (query, share) in enumerate(zip(found[:k], (0.62, 0.21, 0.09, 0.03, 0.008) * 10, strict=False), 1)
        )
        abstain = 0.93 if "all fine" in incident.report else 0.04
        return RankedCandidates(ranked, abstain)

    def find(self, incident: Incident, query_id: str) -> RankedQuery:
        for ranked in self.rank(incident, self.candidates(incident), 50).queries:
            if ranked.query.id == query_id:
                return ranked
        raise NotFoundError(f"no query {query_id!r} can be asked about this incident")

    def rerank(
        self, incident: Incident, kept: Sequence[RankedQuery], k: int = 5
    ) -> tuple[RankedCandidates, tuple[RankChange, ...]]:
        """What stands out, what was not run, what shows nothing: in this order, the first ``k`` and whatever was kept."""
        shown = {(f.template, f.bindings): f.signal >= SIGNIFICANT for f in incident.findings}
        had = {q.query.id: q for q in kept}
        unrun = self.rank(incident, self.candidates(incident), 50)
        everything = [had.get(q.query.id, q) for q in unrun.queries]
        key = {True: 0, None: 1, False: 2}
        ordered = sorted(everything, key=lambda q: key[shown.get((q.query.template.id, q.query.bindings))])
        chosen = [q for place, q in enumerate(ordered) if place < k or q.query.id in had]
        queries = tuple(replace(q, rank=place) for place, q in enumerate(chosen, 1))
        moves = tuple(RankChange(q.rank, f"from {q.rank}, the stand-in says") for q in chosen)
        return RankedCandidates(queries, unrun.no_fault_probability), moves


def settings(folder: Path, *records: Record) -> Settings:
    """Settings on a temporary folder, with these recorded incidents and a live system none of whose backends answers."""
    catalog = folder / "catalog.yaml"
    catalog.write_text(CATALOG, encoding="utf-8")
    for one in records:
        write_records(folder / "incidents" / f"{one.id}.jsonl.xz", [one])
    dead = {"prometheus": Backend(url="http://127.0.0.1:9", link="http://127.0.0.1:9")}
    return Settings(
        database=f"sqlite:///{folder}/revelio.db",
        names=["testserver"],
        rate_limit=0,
        model=folder / "model",
        incidents=folder / "incidents",
        catalog=[catalog],
        systems={"shop": SystemSettings(project="made", backends=dead)},
    )


def stand_in(wanted: Settings) -> StandIn:
    """The stand-in over the catalog of these settings."""
    return StandIn(load_catalog(*wanted.catalog))
