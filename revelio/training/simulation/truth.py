"""What is a right answer: candidates that read what the fault did itself, and those that read what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from revelio.encoders.candidate_index import bound_names
from revelio.encoders.evidence import index_evidence
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.systems.incidents.exchange import Label
from revelio.training.simulation.dialect import Dialect, reads_of
from revelio.training.simulation.events import Written
from revelio.training.simulation.faults import Fault
from revelio.training.simulation.flow import Figures, Flow
from revelio.training.simulation.places import Watched
from revelio.types import Evidence, Query, Reading, StateChange

Item = tuple[str, str, str]
"""Entity, source and metric."""
_SLOWER, _SLOWER_MS, _FAILING, _MORE, _FEWER = 1.5, 10.0, 0.02, 2.0, 0.4
_SERIES = {
    "latency": (
        "latency_p95",
        "latency_mean",
        "rpc_latency_p95",
        "edge_latency_p95",
        "backend_latency",
        "handling_p95",
        "db_latency",
    ),
    "errors": ("error_rate", "rpc_error_rate", "edge_error_rate", "backend_error_rate", "handling_failures", "log_errors"),
    "rate": ("request_rate", "rpc_rate", "edge_rate", "backend_rate", "handling_rate", "cache_commands", "db_transactions"),
    "self": (),
}
"""Figures that follow from requests, by what they say of them."""
_SPANS = {"latency": ("p95_ms", "median_ms"), "errors": ("errors",), "rate": ("count",), "self": ("self_ms",)}


def truth(
    dialect: Dialect,
    watched: Sequence[Watched],
    number: int,
    fault: Fault,
    flows: tuple[Flow, Flow],
    lines: Sequence[Written],
    changes: Sequence[tuple[StateChange, int, int]],
) -> dict[Item, int]:
    """The grade of every item that one fault alone explains; ``flows`` are without any fault and with this one alone."""
    found: dict[Item, int] = {}
    _of_flow(found, dialect, watched, fault, flows)
    for one in watched:
        for measure in dialect.measures.get(one.entity.kind, ()):
            effect = fault.mechanism.figures.get(measure.name)
            if effect is not None and one.has(measure.name) and one.belongs_to(fault, measure.name):
                for source in ("series", "features"):
                    _raise(found, (one.entity.name, source, measure.called), effect.grade)
    for line in lines:
        if line.fault == number:
            for level in (line.level, "new_problems", "error" if line.level == "fatal" else line.level):
                _raise(found, (line.component, "logs", level), line.grade)
            _raise(found, (line.component, "logs", "problems"), min(2, line.grade))
            _raise(found, (line.component, "logs", ""), 1)
            if line.component != fault.component:
                _raise(found, (f"{line.component}->{fault.component}", "logs", "problems"), line.grade)
    for change, owner, grade in changes:
        if owner == number:
            _raise(found, (change.entity.name, "changes", change.field), grade)
            _raise(found, (change.entity.name, "changes", ""), min(2, grade))
    return found


def _of_flow(
    found: dict[Item, int],
    dialect: Dialect,
    watched: Sequence[Watched],
    fault: Fault,
    flows: tuple[Flow, Flow],
) -> None:
    """Grade what follows from requests: other times, failures and numbers than without the fault."""
    called = {m.name: m.called for some in dialect.measures.values() for m in some}
    for one in watched:
        moved, name = _moved(*(_figures(one, f) for f in flows)), one.entity.name
        for what in moved:
            grade = _grade(_side(one, fault), what, fault.mechanism.tells)
            for metric in _SPANS[what]:
                _raise(found, (name, "spans", metric), grade)
                if one.operation:
                    _raise(found, (one.operation[0], "spans", metric), grade)
            for metric in (called[m] for m in _SERIES[what] if m in called):
                _raise(found, (name, "series", metric), grade)
                _raise(found, (name, "features", metric), grade)
        if "errors" in moved and one.edge:
            _raise(found, (name, "logs", "problems"), 2 if one.edge[1] == fault.component else 1)
        if "errors" in moved and one.entity.kind in ("service", "log_source"):
            for level in ("error", "warning", "problems", "new_problems"):
                _raise(found, (name, "logs", level), 1)


def _figures(one: Watched, of: Flow) -> Figures | None:
    if one.edge:
        return of.calls.get(one.edge)
    if one.operation:
        return of.operations.get(one.operation)
    return of.components.get(one.owners[0]) if one.owners else None


def _side(one: Watched, fault: Fault) -> str:
    """Where an entity lies as seen from the place of the fault: its own, calls ``in`` or ``out``, "" for elsewhere."""
    if one.edge:
        return "in" if fault.place in (one.edge, one.edge[1]) else "out" if one.edge[0] == fault.place else ""
    return "own" if one.owners and one.owners[0] == fault.place else ""


def _grade(side: str, what: str, tells: Mapping[str, int]) -> int:
    if not side:
        return 0 if what == "rate" else 1  # that others are called less shows nothing of the cause
    return tells.get(what if side == "own" else f"{side}_{what}", 1 if side == "out" else 2)


def _moved(before: Figures | None, now: Figures | None) -> tuple[str, ...]:
    if before is None or before.rate <= 0:
        return ()
    if now is None or now.rate <= 0:
        return ("rate",)
    found = []
    if now.mean_ms > _SLOWER * before.mean_ms and now.mean_ms - before.mean_ms > _SLOWER_MS:
        found.append("latency")
    if now.self_ms > _SLOWER * before.self_ms and now.self_ms - before.self_ms > _SLOWER_MS:
        found.append("self")
    if now.failed - before.failed > _FAILING:
        found.append("errors")
    if now.rate > _MORE * before.rate or now.rate < _FEWER * before.rate:
        found.append("rate")
    return tuple(found)


def _raise(found: dict[Item, int], item: Item, grade: int) -> None:
    found[item] = max(found.get(item, 0), grade)


def labels(graded: Mapping[Item, int], queries: Sequence[Query], evidence: Evidence, dialect: Dialect) -> tuple[Label, ...]:
    """Every candidate that reads one of the graded items, where the evidence shows it.

    A query about everything shows an item among others: it is worth one grade less.
    """
    view = index_evidence(_of(graded, evidence), dialect.noise)
    known: dict[str, tuple[Reading, ...]] = {}
    everywhere: dict[tuple[str, str], int] = {}
    for (_, source, metric), grade in graded.items():
        everywhere[source, metric] = max(everywhere.get((source, metric), 0), grade)
    found = []
    for query in queries:
        if query.template.id not in known:
            known[query.template.id] = reads_of(query.template, dialect)
        grade = 0
        names = bound_names(query)
        for reading in known[query.template.id]:
            for r in (reading, Reading("features", reading.metric, reading.direction)) if dialect.summed else (reading,):
                if not names:
                    worth = everywhere.get((r.source, r.metric), 0) - 1
                    far = view.largest([r]).get(r, 0.0)
                else:
                    # Lines of a caller about what it calls are known by the call.
                    at = next((n for n in names if (n, r.source, r.metric) in graded), "")
                    seen = names[-1] if r.source == "logs" and len(names) > 1 else at
                    at = at if r.source != "logs" or at == names[0] else ""
                    worth, far = graded.get((at, r.source, r.metric), 0), view.reading(seen, r) or 0.0
                if worth > grade and far >= SIGNIFICANT_SIGMA:
                    grade = worth
        if grade in (1, 2, 3):
            found.append(Label(query.template.id, query.bindings, grade, 1.0, 0.0))  # type: ignore[arg-type]
    return tuple(found)


def _of(graded: Mapping[Item, int], evidence: Evidence) -> Evidence:
    """The evidence with graded figures alone: nothing else need be compared with its baseline."""
    return replace(
        evidence,
        series=tuple(s for s in evidence.series if (s.entity.name, "series", s.metric) in graded),
        features=tuple(f for f in evidence.features if (f.entity.name, "features", f.name) in graded),
    )
