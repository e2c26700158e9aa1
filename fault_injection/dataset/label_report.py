"""How well the labels do: of each kind's runs those whose cause a tool showed, and how often each accepted query was proven."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from fault_injection.campaigns.status import discarded_runs, records_in
from fault_injection.dataset.template_coverage import CONTROL
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import Record

UNEXPLAINED = "no tool shows its cause"
"""The stage at which a run is discarded because no label of grade 3 was proven."""
LEAST_SHARE = 0.9
"""A kind whose cause is shown in fewer of its runs needs a look."""
ENOUGH = 3
"""Incidents after which a label that was never proven needs a look."""


@dataclass(frozen=True, slots=True)
class KindProof:
    """One kind's runs that came to be judged: recorded ones, and ``unexplained`` ones discarded for that reason.

    ``shown`` of them, a ``share`` of ``runs``, had a proven label of grade 3; ``low`` where that is under ``LEAST_SHARE``.
    """

    kind: str
    runs: int
    unexplained: int
    shown: int
    share: float
    low: bool


@dataclass(frozen=True, slots=True)
class LabelProof:
    """How often one accepted template was proven for one kind.

    ``of`` incidents could have shown it (it has queries for their place), ``incidents`` of them, a ``share``, have at least
    one proven; ``never`` where none of at least ``ENOUGH`` has. ``executed``, ``proven`` and ``in_baseline`` count queries.
    """

    kind: str
    template: str
    grade: int
    incidents: int
    of: int
    executed: int
    proven: int
    in_baseline: int
    share: float
    never: bool


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Kinds and labels, each in the order of their names."""

    kinds: tuple[KindProof, ...]
    labels: tuple[LabelProof, ...]


@dataclass(slots=True)
class _Counts:
    of: set[str] = field(default_factory=set)
    proven_in: set[str] = field(default_factory=set)
    executed: int = 0
    proven: int = 0
    in_baseline: int = 0


def label_report(out: Path) -> LabelReport:
    """Count over what was recorded in ``out``, without the controls, which have no cause."""
    shown: dict[str, dict[str, bool]] = defaultdict(dict)
    counts: dict[tuple[str, str, int], _Counts] = defaultdict(_Counts)
    for record in records_in(out):
        if record.fault is not None and record.fault.category != CONTROL:
            shown[record.fault.kind][record.run or record.id] = any(x.proven and x.grade == 3 for x in record.labels)
            _count(record, record.fault.kind, counts)
    unexplained: dict[str, set[str]] = defaultdict(set)
    for entry in discarded_runs(out):
        if entry["stage"] == UNEXPLAINED and entry["run"] not in shown[entry["kind"]]:
            unexplained[entry["kind"]].add(entry["run"])
    kinds = sorted(kind for kind in shown if shown[kind] or unexplained[kind])
    return LabelReport(
        tuple(_kind(kind, shown[kind], len(unexplained[kind])) for kind in kinds),
        tuple(_label(key, c) for key, c in sorted(counts.items())),
    )


def _count(record: Record, kind: str, counts: dict[tuple[str, str, int], _Counts]) -> None:
    for label in record.labels:
        c = counts[kind, label.template, label.grade]
        c.of.add(record.id)
        c.executed += label.signal is not None
        c.in_baseline += (label.baseline_signal or 0.0) >= SIGNIFICANT
        c.proven += label.proven
        if label.proven:
            c.proven_in.add(record.id)


def _kind(kind: str, shown: dict[str, bool], unexplained: int) -> KindProof:
    runs, good = len(shown) + unexplained, sum(shown.values())
    return KindProof(kind, runs, unexplained, good, good / runs, good / runs < LEAST_SHARE)


def _label(key: tuple[str, str, int], c: _Counts) -> LabelProof:
    incidents, of = len(c.proven_in), len(c.of)
    never = incidents == 0 and of >= ENOUGH
    return LabelProof(*key, incidents, of, c.executed, c.proven, c.in_baseline, incidents / of, never)
