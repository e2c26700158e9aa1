"""Freezes a campaign's incidents into a dataset: splits by id, a hash per file, and proof that nothing leaks."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import (
    EARLIER,
    MANIFEST,
    SPLITS,
    TEST_WRITERS,
    TRAIN_WRITERS,
    grown_from,
    open_dataset,
)
from revelio.systems.incidents.exchange import Record, records_of
from revelio.systems.incidents.files import IncidentFiles
from revelio.types import Evidence


def freeze(out: Path) -> dict[str, int]:
    """Write ``manifest.json`` for the incidents in ``out`` and return how many each split has.

    Raises ``DatasetError`` when there are none, or when a run, place or writer leaks from a test split into training.
    """
    files = IncidentFiles(out / "incidents")
    names = files.names()
    records = [_outline(record) for name in names for record in records_of(files, name)]
    if not records:
        raise DatasetError(f"{files.folder}: holds no incidents; run a campaign first")
    check_leaks(records)
    counts = Counter(r.split for r in records)
    earlier = _earlier(out, {r.id: r.split for r in records})
    content = {
        "format": "revelio.dataset/1",
        "catalogs": sorted({r.catalog for r in records}),
        "counts": {name: counts[name] for name in SPLITS if counts[name]},
        "splits": {r.id: r.split for r in sorted(records, key=lambda r: r.id)},
        "files": {name: files.digest(name) for name in names},
    }
    _write(out / EARLIER, earlier)
    _write(out / MANIFEST, content)
    return dict(counts)


def _outline(record: Record) -> Record:
    """The record without what was seen, so that thousands fit into memory."""
    nothing = Evidence(record.evidence.window, record.evidence.baseline)
    return replace(record, evidence=nothing, results=(), notes=(), labels=())


def _earlier(out: Path, splits: dict[str, str]) -> list[str]:
    """The freezes that this one grows from: the last and those before it, or none once an incident has moved or is gone."""
    if not (out / MANIFEST).is_file():
        return []
    last = open_dataset(out, verify=False)
    stayed = all(splits.get(incident) == split for incident, split in last.splits.items())
    return list(dict.fromkeys((*grown_from(out), last.digest))) if stayed else []


def _write(path: Path, content: object) -> None:
    """The file appears whole or not at all."""
    temporary = path.with_name(f".{path.name}")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def check_leaks(records: Sequence[Record]) -> None:
    """``DatasetError`` that names the first leak: of a run, a split's meaning, a held-out place or pairing, or a writer."""
    seen: set[str] = set()
    trained: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in records:
        if record.id in seen:
            raise DatasetError(f"incident {record.id} is there twice")
        seen.add(record.id)
        if record.split not in SPLITS:
            raise DatasetError(f"incident {record.id}: split {record.split!r} is none of {', '.join(SPLITS)}")
        if record.split == "train" and record.fault:
            trained[record.fault.kind].add((record.system, record.fault.place))
    systems = {r.system for r in records if r.split == "train"}
    for record in records:
        if record.split == "new_app" and record.system in systems:
            raise DatasetError(f"incident {record.id}: {record.system} is held out, yet trained on")
        _check_place(record, trained)
    _check_runs(records)
    _check_noise(records)
    _check_writers(records)


def _check_runs(records: Sequence[Record]) -> None:
    """The incidents of one run share their evidence: they are in one split, and a pairing that is new was not trained on."""
    runs: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.run:
            runs[record.run].append(record)
    for run, incidents in runs.items():
        if len(splits := sorted({r.split for r in incidents})) > 1:
            raise DatasetError(f"run {run}: its incidents are in different splits: {', '.join(splits)}")
    trained = {_pairing(incidents) for incidents in runs.values() if incidents[0].split == "train"}
    for run, incidents in runs.items():
        if incidents[0].split == "new_fault" and (both := _pairing(incidents)) in trained:
            raise DatasetError(f"run {run}: {' and '.join(sorted(both))} at once are held out, yet trained on")


def _check_noise(records: Sequence[Record]) -> None:
    trained = {noise.kind for r in records if r.split == "train" for noise in r.noise}
    for record in records:
        if record.split in ("new_fault", "new_app") and (known := trained & {noise.kind for noise in record.noise}):
            raise DatasetError(f"incident {record.id} ({record.split}): its noise {', '.join(known)} is trained on")


def _pairing(incidents: Sequence[Record]) -> frozenset[str]:
    return frozenset(r.fault.category for r in incidents if r.fault)


def _check_place(record: Record, trained: dict[str, set[tuple[str, str]]]) -> None:
    fault = record.fault
    control = fault is None or fault.category == "control"
    if record.split == "no_fault" and not control:
        raise DatasetError(f"incident {record.id} is in no_fault but has a fault")
    if fault is None or control:
        return
    if record.split == "new_location" and (record.system, fault.place) in trained[fault.kind]:
        raise DatasetError(f"incident {record.id}: {fault.kind} at {fault.place} is held out, yet trained on")
    if record.split == "new_fault" and not record.run and fault.kind in trained:
        raise DatasetError(f"incident {record.id}: {fault.kind} is held out, yet trained on")


def _check_writers(records: Sequence[Record]) -> None:
    trained = {report.writer for r in records if r.split == "train" for report in r.reports}
    for record in sorted(records, key=lambda r: r.split != "train"):
        kept_out = TEST_WRITERS if record.split == "train" else trained.union(TRAIN_WRITERS)
        for report in record.reports:
            if report.writer in kept_out:
                raise DatasetError(
                    f"incident {record.id} ({record.split}) has a report by {report.writer}: no writer may write for both "
                    "training and tests"
                )
