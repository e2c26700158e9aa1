"""Judges recorded runs by the labels and the catalog as they are now. What was seen stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fault_injection.apps import app_named
from fault_injection.campaigns.proof import short
from fault_injection.campaigns.record import labels_of
from fault_injection.dataset.rescore import rescore
from fault_injection.labels import load_labels
from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.incidents.exchange import Record, read_records, write_records


def relabel(out: Path, catalog: Catalog) -> dict[str, int]:
    """Write each incident of a campaign whose signals or labels changed anew; incidents changed by kind.

    Signals are read again from the whole results, where those are there. ``DatasetError`` when there are no incidents. An
    incident that no longer has a proven label of grade 3 stays: see ``check-labels``.
    """
    paths = sorted((out / "incidents").glob("*.jsonl.xz"))
    if not paths:
        raise DatasetError(f"{out / 'incidents'}: holds no incidents; run a campaign first")
    entries = load_labels()
    changed: dict[str, int] = {}
    for path in paths:
        for record in read_records(path):
            if record.fault is None:
                continue
            kind, place = record.fault.kind, record.fault.place
            accepted, app = entries.get(kind, ()), app_named(record.system)
            whole = _whole(out / "results" / path.name)
            results = record.results if whole is None else rescore(whole, catalog)
            labels = labels_of(record.evidence, results, place, accepted, app, catalog)
            if labels != record.labels or short(results) != record.results:
                if whole is not None:
                    write_records(out / "results" / path.name, [replace(whole, results=results)])
                write_records(path, [replace(record, labels=labels, results=short(results))])
                changed[kind] = changed.get(kind, 0) + 1
    return dict(sorted(changed.items()))


def _whole(path: Path) -> Record | None:
    """The run's results with their rows and series."""
    return next(iter(read_records(path)), None) if path.is_file() else None
