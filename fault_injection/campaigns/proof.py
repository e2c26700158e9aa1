"""Runs every candidate query on the real backends and proves which accepted ones show the fault, and only now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from fault_injection.labels import Grade
from revelio.errors import SourceError
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import Label
from revelio.tools.base import Scope
from revelio.types import Evidence, Query, RecordedResult, Result, Window

AT_ONCE = 3
"""Queries asked at the same time: enough to keep the backends busy, few enough to leave the application its share."""


class LiveSystem(Protocol):
    """A system whose backends can be asked now."""

    def snapshot(self, scope: Scope) -> Evidence:
        """What all tools see at a glance."""

    def run(self, query: Query, scope: Scope) -> Result:
        """Execute one query; ``SourceError`` when its backend does not answer."""

    def retrospective(self, query: Query) -> bool:
        """Whether it can be run later on as well as now."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The results of all candidates, and the queries whose backend did not answer, with the reason."""

    results: dict[Query, Result]
    failed: dict[Query, str]


def execute(system: LiveSystem, queries: Iterable[Query], scope: Scope) -> Executed:
    """Run queries a few at a time; a failing one is kept as failed and does not stop the others."""
    asked = tuple(queries)

    def run(query: Query) -> Result | str:
        try:
            return system.run(query, scope)
        except SourceError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        answers = dict(zip(asked, pool.map(run, asked), strict=True))
    return Executed(
        {q: a for q, a in answers.items() if isinstance(a, Result)}, {q: a for q, a in answers.items() if isinstance(a, str)}
    )


def healthy_scope(scope: Scope) -> Scope:
    """The baseline's second half as the window, its first half as the baseline: what a query says when nothing is wrong."""
    middle = scope.baseline.start + scope.baseline.seconds / 2
    return Scope(scope.project, Window(middle, scope.baseline.end), Window(scope.baseline.start, middle))


def alarmed(results: Mapping[Query, Result]) -> tuple[Query, ...]:
    """The queries whose signal is present: only these need a comparison with health."""
    return tuple(q for q, r in results.items() if r.signal >= SIGNIFICANT)


def prove(accepted: Mapping[Query, Grade], results: Iterable[RecordedResult]) -> tuple[Label, ...]:
    """A label for each accepted query: proven when its signal is present in the incident and absent in health."""
    known = {(r.template, r.bindings): r for r in results}
    labels = []
    for query, grade in accepted.items():
        told = known.get((query.template.id, query.bindings))
        now = None if told is None else told.result.signal
        before = None if told is None else told.healthy_signal
        proven = now is not None and now >= SIGNIFICANT and before is not None and before < SIGNIFICANT
        labels.append(Label(query.template.id, query.bindings, grade, now, before, proven))
    return tuple(labels)


def recorded(results: Mapping[Query, Result], healthy: Mapping[Query, Result]) -> tuple[RecordedResult, ...]:
    """Whole results as a record keeps them, with what the same queries said in health."""
    return tuple(
        RecordedResult(q.template.id, q.bindings, r, healthy[q].signal if q in healthy else None) for q, r in results.items()
    )


def short(results: Iterable[RecordedResult]) -> tuple[RecordedResult, ...]:
    """Of each result only what it said in words and how strongly."""
    return tuple(replace(r, result=replace(r.result, columns=(), roles=(), rows=(), series=(), spans=())) for r in results)
