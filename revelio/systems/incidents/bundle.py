"""Chosen incidents for the page: everything a user may see, with the full result of every candidate, and nothing of the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import Record, records_of, write_records
from revelio.systems.incidents.files import IncidentFiles


def bundle(dataset: Path, ids: Iterable[str], out: Path) -> tuple[str, ...]:
    """Write ``OUT/<id>.jsonl.xz`` for each incident of a campaign folder, with the results of ``DATASET/results/<id>``.

    Labels, fault, notes and split are left out, and of the reports only their texts stay. Raises ``DatasetError`` when
    an incident or its results are not there. Gives the ids written.
    """
    written = []
    for wanted in ids:
        name = f"{wanted}.jsonl.xz"
        record, full = (_only(IncidentFiles(dataset / part), name) for part in ("incidents", "results"))
        write_records(out / name, [public(replace(record, results=full.results))])
        written.append(wanted)
    return tuple(written)


def public(record: Record) -> Record:
    """The record without anything that only its maker knows."""
    reports = tuple(replace(r, writer="", cell="") for r in record.reports)
    return replace(record, labels=(), fault=None, notes=(), split="", reports=reports)


def _only(files: IncidentFiles, name: str) -> Record:
    record = next(records_of(files, name), None)
    if record is None:
        raise DatasetError(f"{files.folder / name}: holds no incident")
    return record
