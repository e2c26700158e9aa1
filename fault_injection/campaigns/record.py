"""What one run leaves behind: a record with short results for learning, and one with whole results for showing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fault_injection.apps import App
from fault_injection.campaigns.environment import Environment
from fault_injection.campaigns.plan import Run
from fault_injection.campaigns.proof import alarmed, execute, healthy_scope, prove, recorded, short
from fault_injection.inject import Injection
from fault_injection.kinds import kind_named
from fault_injection.labels import Call, Cause, accepted_queries, apart_from
from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.errors import SourceError
from revelio.systems.incidents.exchange import FaultRecord, Label, Note, Record, Report, write_records
from revelio.tools.base import Scope
from revelio.types import Evidence, Query, RecordedResult, Result


@dataclass(frozen=True, slots=True)
class LiveObservation:
    """What could be seen only while the fault was active, and what users noted then and in the baseline."""

    scope: Scope
    evidence: Evidence
    notes: tuple[Note, ...]
    queries: tuple[Query, ...]
    results: Mapping[Query, Result]


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that tools and users saw of a run."""

    scope: Scope
    evidence: Evidence
    notes: tuple[Note, ...]
    results: tuple[RecordedResult, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """One incident of a run: its fault, what its users noted and wrote, and its labels."""

    id: str
    injection: Injection
    notes: tuple[Note, ...]
    labels: tuple[Label, ...]
    reports: tuple[Report, ...]


def observe(scope: Scope, environment: Environment) -> LiveObservation:
    """Take the snapshot and run what would answer differently later. Raises ``SourceError`` when a backend is silent."""
    notes = environment.users.notes(scope.baseline.start, scope.window.end)
    evidence = environment.system.snapshot(scope)
    for tool in evidence.missing:
        if tool not in environment.app.stores:
            raise SourceError(tool, "did not answer the snapshot")
    queries = candidates(environment.catalog, inventory(evidence))
    results = _results(environment, scope, (q for q in queries if not environment.system.retrospective(q)))
    return LiveObservation(scope, evidence, notes, queries, results)


def complete(live: LiveObservation, environment: Environment) -> Observation:
    """Run all other queries too, and what shows something once more about the baseline. Raises ``SourceError``."""
    scope = live.scope
    asked_later = (q for q in live.queries if environment.system.retrospective(q))
    results = {**live.results, **_results(environment, scope, asked_later)}
    healthy = execute(environment.system, alarmed(results), healthy_scope(scope)).results
    return Observation(scope, live.evidence, live.notes, recorded(results, healthy))


def _results(environment: Environment, scope: Scope, queries: Iterable[Query]) -> dict[Query, Result]:
    """Of all queries but those to the application's own stores: a fault may well silence them."""
    executed = execute(environment.system, queries, scope)
    failed = {q: reason for q, reason in executed.failed.items() if q.template.tool not in environment.app.stores}
    if failed:
        query, reason = next(iter(failed.items()))
        raise SourceError(query.template.tool, f"{len(failed)} queries failed, {query.id}: {reason}")
    return executed.results


def labels_of(
    record_evidence: Evidence,
    results: Iterable[RecordedResult],
    cause: Cause,
    app: App,
    catalog: Catalog,
    *,
    beside: Cause | None = None,
) -> tuple[Label, ...]:
    """What the accepted queries of a fault are worth, given what was seen; ``beside`` is a second fault that was active."""
    queries, calls = candidates(catalog, inventory(record_evidence)), calls_of(record_evidence, app)
    accepted = accepted_queries(cause.accepted, cause.place, queries, calls)
    if beside is not None:
        others = accepted_queries(beside.accepted, beside.place, queries, calls)
        accepted = apart_from(accepted, cause.place, others, beside.place)
    return prove(accepted, results)


def calls_of(evidence: Evidence, app: App) -> frozenset[Call]:
    """Who calls whom: the edges that the tools saw, and who uses which store."""
    seen = {tuple(e.name.split("->", 1)) for e in evidence.entities if e.kind == "edge"}
    return frozenset(Call(*pair) for pair in seen | set(app.store_users))


def write(
    out: Path, run: Run, seen: Observation, incidents: Iterable[Judged], catalog: str, noise: Sequence[Injection] = ()
) -> None:
    """Write each incident's whole results first and the incident last: a run is recorded when its incidents are there."""
    for one in incidents:
        record = Record(
            id=one.id,
            system=run.app,
            opened_at=seen.scope.window.end,
            evidence=seen.evidence,
            reports=one.reports,
            results=seen.results,
            notes=one.notes,
            labels=one.labels,
            fault=_fault_record(one.injection),
            split=run.split,
            catalog=catalog,
            run="" if run.beside is None else run.id,
            noise=tuple(_fault_record(injection) for injection in noise),
        )
        name = f"{one.id}.jsonl.xz"
        scope = Evidence(seen.scope.window, seen.scope.baseline)
        whole = Record(record.id, record.system, record.opened_at, scope, results=seen.results, run=record.run)
        write_records(out / "results" / name, [whole])
        write_records(out / "incidents" / name, [replace(record, results=short(seen.results))])


def _fault_record(injection: Injection) -> FaultRecord:
    fault = injection.fault
    return FaultRecord(
        kind=fault.kind,
        category=kind_named(fault.kind).category,
        place=fault.place,
        strength=fault.strength,
        parameters=tuple((k, v if isinstance(v, str) else float(v)) for k, v in injection.parameters),
        verified_by=injection.verified_by,
    )
