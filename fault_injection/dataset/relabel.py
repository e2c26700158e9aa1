"""Judges recorded runs by the labels and the catalog as they are now. What was seen stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from fault_injection.apps import app_named
from fault_injection.campaigns.proof import short
from fault_injection.campaigns.record import labels_of
from fault_injection.dataset.rescore import rescore
from fault_injection.labels import Accepted, Cause, load_labels
from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import FaultRecord, Record, records_of, write_records
from revelio.systems.incidents.files import IncidentFiles
from revelio.types import RecordedResult


def relabel(out: Path, catalog: Catalog) -> dict[str, int]:
    """Rewrite each incident of a campaign whose signals or labels changed; returns the number of changed incidents by kind.

    Signals are read again from the whole results, where those are there. ``DatasetError`` when there are no incidents. An
    incident that no longer has a proven label of grade 3 stays: see ``check-labels``. A changed incident lies beside the shard
    that it was packed in until ``campaign pack``.
    """
    incidents, whole_results = IncidentFiles(out / "incidents"), IncidentFiles(out / "results")
    names = incidents.names()
    if not names:
        raise DatasetError(f"{incidents.folder}: holds no incidents; run a campaign first")
    entries = load_labels()
    changed: dict[str, int] = {}
    for name in names:
        for record in records_of(incidents, name):
            if record.fault is None:
                continue
            kind = record.fault.kind
            causes = [_cause(fault, entries) for fault in (record.fault, *_beside(incidents, names, record))]
            whole = next(records_of(whole_results, name), None) if whole_results.has(name) else None
            results = record.results if whole is None else rescore(whole, catalog)
            app, other = app_named(record.system), next(iter(causes[1:]), None)
            labels = labels_of(record.evidence, results, causes[0], app, catalog, beside=other)
            if labels != record.labels or _signals(results) != _signals(record.results):
                if whole is not None:
                    write_records(whole_results.folder / name, [replace(whole, results=results)])
                write_records(incidents.folder / name, [replace(record, labels=labels, results=short(results))])
                changed[kind] = changed.get(kind, 0) + 1
    return dict(sorted(changed.items()))


def _cause(fault: FaultRecord, entries: Mapping[str, tuple[Accepted, ...]]) -> Cause:
    return Cause(fault.place, entries.get(fault.kind, ()))


def _beside(incidents: IncidentFiles, names: Iterable[str], record: Record) -> list[FaultRecord]:
    """The other fault of the same run; none where it had but one."""
    same_run = (name for name in names if record.run and name.startswith(record.run))
    others = (other for name in same_run for other in records_of(incidents, name) if other.id != record.id)
    return [other.fault for other in others if other.fault and other.run == record.run]


def _signals(results: Iterable[RecordedResult]) -> list[tuple[object, ...]]:
    """What makes a record worth rewriting: not what a later version adds to every result that it reads."""
    return [(r.template, r.bindings, r.result.signal, r.healthy_signal) for r in results]
