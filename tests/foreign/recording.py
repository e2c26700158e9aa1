"""What is kept of a moment: a snapshot and what it cost, every query run, and which of them prove to show the cause."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import httpx

from fault_injection.campaigns.proof import alarmed, execute, healthy_scope, recorded, short
from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.catalog.conventions import signals
from revelio.support.anomaly import SIGNIFICANT, deviation, signal, split
from revelio.systems.incidents.exchange import Label
from revelio.systems.system import System
from revelio.types import Evidence, Query, Reading, RecordedResult, Result, Series, Window
from tests.foreign.faults import Cause
from tests.foreign.machine import PROMETHEUS

FIGURES = "figures.jsonl"
SETTLED_S = 30.0
"""How long figures need to follow a fault, in seconds: they are measured every quarter of a minute."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one snapshot cost, and what came of every query that could be asked: ``empty`` are those without data."""

    incident: str
    requests: int
    seconds: float
    candidates: int
    empty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """One snapshot, its cost to Prometheus, and the result of each candidate."""

    evidence: Evidence
    requests: int
    seconds: float

    def figures(self, incident: str, results: dict[Query, Result]) -> Figures:
        """What is noted beside the incident."""
        empty = tuple(sorted(q.id for q, r in results.items() if not (r.series or r.rows or r.spans)))
        return Figures(incident, self.requests, round(self.seconds, 2), len(results), empty)


def look(system: System, now: float) -> Moment:
    """A snapshot as an answer takes it, counted by Prometheus itself."""
    before, began = _requests(), time.perf_counter()
    evidence = system.snapshot(now)
    took = time.perf_counter() - began
    return Moment(evidence, _requests() - before - 1, took)


@dataclass(frozen=True, slots=True)
class Ran:
    """Every candidate, run now and where it alarms also for the time before."""

    results: dict[Query, Result]
    kept: tuple[RecordedResult, ...]


def run_all(system: System, evidence: Evidence) -> Ran:
    """Run all candidates of an evidence on the live backends."""
    scope = system.scope(evidence)
    asked = candidates(system.catalog, inventory(evidence))
    results = execute(system, asked, scope).results
    healthy = execute(system, alarmed(results), healthy_scope(scope)).results
    return Ran(results, recorded(results, healthy))


def proven(causes: tuple[Cause, ...], evidence: Evidence, results: Sequence[RecordedResult], began: float) -> tuple[Label, ...]:
    """A label for each query that was run and should show the cause; entities may be named by a pattern with ``*``.

    Whether a figure shows it is judged by the time of the fault, which ``began`` then (Unix seconds) and lasted: a question's
    window may hold more health than fault. A query that reads no figure is judged by what it returned.
    """
    templates = {t.id: t for t in bundled_catalog().templates}
    told = {(r.template, r.bindings): r for r in results}
    labels: dict[tuple[str, tuple[tuple[str, str], ...]], Label] = {}
    for cause in sorted(causes, key=lambda c: c.grade):
        for (template, bindings), result in told.items():
            if template == cause.template and _names(cause, dict(bindings)):
                query = Query(templates[template], bindings)
                now, before = _signals(query, evidence, began) or (result.result.signal, result.healthy_signal)
                shown = now >= SIGNIFICANT and (before or 0.0) < SIGNIFICANT
                labels[template, bindings] = Label(template, bindings, cause.grade, now, before, shown)
    return tuple(labels.values())


def _signals(query: Query, evidence: Evidence, began: float) -> tuple[float, float] | None:
    """How far the figures that a query reads left their past during the fault, and before it; None where it reads none."""
    fault, past = Window(began + SETTLED_S, evidence.window.end), Window(evidence.baseline.start, began)
    middle = past.start + past.seconds / 2
    healthy = Window(middle, past.end), Window(past.start, middle)
    found = [
        (_signal(series, reading, past, fault), _signal(series, reading, healthy[1], healthy[0]))
        for reading in query.template.reads
        if reading.source == "series" and reading.metric in signals()
        for series in evidence.series
        if series.metric == reading.metric and series.entity.name in (_edge(query), *dict(query.bindings).values())
    ]
    return max(found, default=None)


def _signal(series: Series, reading: Reading, past: Window, now: Window) -> float:
    before, after = split(series.times, series.values, past, now)
    return signal(deviation(before, after, reading.direction, signals()[series.metric].noise_floor))


def _edge(query: Query) -> str:
    bound = dict(query.bindings)
    return f"{bound.get('service')}->{bound.get('peer')}"


def said(ran: Ran) -> tuple[RecordedResult, ...]:
    """What each result said, in words and strength."""
    return short(ran.kept)


def note(folder: Path, figures: Figures) -> None:
    """Keep the figures beside the incidents; of two lines for an incident the last holds."""
    with (folder / FIGURES).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(figures)) + "\n")


def noted(folder: Path) -> dict[str, Figures]:
    """The figures of each incident."""
    lines = (folder / FIGURES).read_text(encoding="utf-8").splitlines() if (folder / FIGURES).exists() else []
    read = [json.loads(line) for line in lines]
    return {r["incident"]: Figures(**{**r, "empty": tuple(r["empty"])}) for r in read}


def _names(cause: Cause, bound: Mapping[str, str]) -> bool:
    return all(fnmatchcase(bound.get(blank, ""), wanted) for blank, wanted in cause.blanks)


def _requests() -> int:
    """Requests that Prometheus has answered so far."""
    page = httpx.get(f"{PROMETHEUS}/metrics", timeout=10.0).raise_for_status().text
    return int(sum(float(n) for n in re.findall(r"^prometheus_http_requests_total\{[^}]*\} (\S+)$", page, re.MULTILINE)))
