"""Judges recorded runs by the labels as they are now. What was seen stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fault_injection.apps import app_named
from fault_injection.labels import load_labels
from fault_injection.record import labels_of
from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.incidents.exchange import read_records, write_records


def relabel(out: Path, catalog: Catalog) -> dict[str, int]:
    """Write each incident of a campaign whose labels changed anew; incidents changed by kind.

    ``DatasetError`` when there are none. An incident that no longer has a proven label of grade 3 stays: see
    ``check-labels``.
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
            labels = labels_of(record.evidence, record.results, place, accepted, app, catalog)
            if labels != record.labels:
                write_records(path, [replace(record, labels=labels)])
                changed[kind] = changed.get(kind, 0) + 1
    return dict(sorted(changed.items()))
