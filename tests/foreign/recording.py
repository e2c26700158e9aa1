"""What is kept of a moment: a snapshot and what it cost, every query run, and which of them prove to show the cause."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import httpx

from fault_injection.campaigns.proof import alarmed, execute, healthy_scope, prove, recorded, short
from fault_injection.labels import Grade
from revelio.candidates import candidates, inventory
from revelio.catalog import bundled_catalog
from revelio.incidents.exchange import Label
from revelio.systems import System
from revelio.types import Evidence, Query, RecordedResult, Result
from tests.foreign.faults import Cause
from tests.foreign.machine import PROMETHEUS

FIGURES = "figures.jsonl"


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


def proven(causes: tuple[Cause, ...], results: tuple[RecordedResult, ...]) -> tuple[Label, ...]:
    """A label for each query that was run and should show the cause; entities may be named by a pattern with ``*``."""
    templates = {t.id: t for t in bundled_catalog().templates}
    accepted: dict[Query, Grade] = {}
    for result in results:
        for cause in causes:
            if cause.template == result.template and _names(cause, dict(result.bindings)):
                query = Query(templates[result.template], result.bindings)
                accepted[query] = max(accepted.get(query, cause.grade), cause.grade)
    return prove(accepted, results)


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
