"""Which templates showed the faults that they should show, and stayed quiet where nothing was wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fault_injection.labels import Accepted
from revelio.errors import DatasetError
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import Record, read_records
from revelio.systems.incidents.files import IncidentFiles

CONTROL = "control"
"""The category of runs in which nothing is wrong."""


@dataclass(frozen=True, slots=True)
class TemplateCoverage:
    """One template over all recorded runs. ``kinds`` are those of the incidents in which it was proven.

    ``accepted`` counts the incidents whose fault's labels take one of its queries as right, ``proven`` those among them in
    which one was seen to show the fault and not to show it before. ``controls`` counts the runs without a fault in which it
    was asked, ``quiet`` those among them in which none of its queries spoke up that had not done so before as well.
    """

    template: str
    tool: str
    accepted: int = 0
    proven: int = 0
    controls: int = 0
    quiet: int = 0
    kinds: tuple[str, ...] = ()
    expected: bool = True

    @property
    def never_proven(self) -> bool:
        """Whether no recorded incident has proven one of its queries."""
        return self.proven == 0


@dataclass(slots=True)
class _Counts:
    accepted: int = 0
    proven: int = 0
    controls: int = 0
    quiet: int = 0
    kinds: set[str] = field(default_factory=set)


def template_coverage(
    campaigns: Sequence[Path], templates: Iterable[tuple[str, str]], labels: dict[str, tuple[Accepted, ...]]
) -> tuple[TemplateCoverage, ...]:
    """Every template of ``templates`` (id and tool), in that order, over the runs of these folders.

    ``expected`` where any kind's labels name it. ``DatasetError`` when one of ``campaigns`` holds no incidents.
    """
    counts: dict[str, _Counts] = defaultdict(_Counts)
    for record in (record for out in campaigns for record in _recorded(out)):
        if record.fault is not None and record.fault.category == CONTROL:
            _count_control(record, counts)
        elif record.fault is not None:
            _count_incident(record, record.fault.kind, counts)
    named = {entry.template for entries in labels.values() for entry in entries}
    return tuple(_light(template, tool, counts[template], template in named) for template, tool in templates)


def _recorded(out: Path) -> Iterator[Record]:
    folder = out / "incidents"
    if not IncidentFiles(folder).names():
        raise DatasetError(f"{folder}: holds no incidents; run a campaign first")
    return read_records(folder)


def newly_anomalous(signal: float, healthy_signal: float | None) -> bool:
    """Whether a result points at a fault that its baseline does not point at."""
    return signal >= SIGNIFICANT and (healthy_signal is None or healthy_signal < SIGNIFICANT)


def _count_incident(record: Record, kind: str, counts: dict[str, _Counts]) -> None:
    for template in {label.template for label in record.labels}:
        counts[template].accepted += 1
    for template in {label.template for label in record.labels if label.proven}:
        counts[template].proven += 1
        counts[template].kinds.add(kind)


def _count_control(record: Record, counts: dict[str, _Counts]) -> None:
    loud = {r.template for r in record.results if newly_anomalous(r.result.signal, r.healthy_signal)}
    for template in {r.template for r in record.results}:
        counts[template].controls += 1
        counts[template].quiet += template not in loud


def _light(template: str, tool: str, c: _Counts, expected: bool) -> TemplateCoverage:
    return TemplateCoverage(template, tool, c.accepted, c.proven, c.controls, c.quiet, tuple(sorted(c.kinds)), expected)
