"""What one run leaves behind: a record with short results for learning, and one with whole results for showing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from fault_injection.apps import App
from fault_injection.inject import Injection
from fault_injection.kinds import kind_named
from fault_injection.labels import Accepted, Call, accepted_queries
from fault_injection.plan import Run
from fault_injection.proof import execute, prove, recorded
from fault_injection.stage import Stage
from revelio.candidates import candidates
from revelio.errors import SourceError
from revelio.incidents.exchange import FaultRecord, Label, Note, Record, Report, write_records
from revelio.tools.base import Scope
from revelio.types import Evidence, Query, Result


@dataclass(frozen=True, slots=True)
class Seen:
    """What tools saw while the fault was in force, and what users noted then and in the baseline."""

    scope: Scope
    evidence: Evidence
    results: dict[Query, Result]
    labels: tuple[Label, ...]
    notes: tuple[Note, ...]


def look(scope: Scope, place: str, entries: tuple[Accepted, ...], stage: Stage) -> Seen:
    """Ask every tool everything. Raises ``SourceError`` when a backend is silent: such a run proves nothing."""
    notes = stage.users.notes(scope.baseline.start, scope.window.end)
    evidence = stage.system.snapshot(scope)
    if evidence.missing:
        raise SourceError(evidence.missing[0], "did not answer the snapshot")
    queries = candidates(stage.catalog, evidence.entities)
    executed = execute(stage.system, queries, scope)
    if executed.failed:
        query, reason = next(iter(executed.failed.items()))
        raise SourceError(query.template.tool, f"{len(executed.failed)} of {len(queries)} queries failed, {query.id}: {reason}")
    accepted = accepted_queries(entries, place, queries, calls_of(evidence, stage.app))
    labels = prove(stage.system, accepted, executed.results, scope)
    return Seen(scope, evidence, executed.results, labels, notes)


def calls_of(evidence: Evidence, app: App) -> frozenset[Call]:
    """Who calls whom: the edges that the tools saw, and who uses which store."""
    seen = {tuple(e.name.split("->", 1)) for e in evidence.entities if e.kind == "edge"}
    return frozenset(Call(*pair) for pair in seen | set(app.store_users))


def write(out: Path, app: App, run: Run, injection: Injection, seen: Seen, reports: tuple[Report, ...], catalog: str) -> None:
    """Write the whole results first and the incident last: a run is recorded when its incident is there."""
    kind = kind_named(run.fault.kind)
    record = Record(
        id=run.id,
        system=app.name,
        opened_at=seen.scope.window.end,
        evidence=seen.evidence,
        reports=reports,
        results=recorded(seen.results, full=False),
        notes=seen.notes,
        labels=seen.labels,
        fault=FaultRecord(
            kind=kind.name,
            category=kind.category,
            place=run.fault.place,
            strength=run.fault.strength,
            parameters=tuple((k, v) for k, v in injection.parameters),
            verified_by=injection.verified_by,
        ),
        split=run.split,
        catalog=catalog,
    )
    name = f"{run.id}.jsonl.xz"
    write_records(out / "results" / name, [replace(record, results=recorded(seen.results, full=True))])
    write_records(out / "incidents" / name, [record])
