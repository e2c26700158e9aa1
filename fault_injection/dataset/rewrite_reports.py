"""Tells recorded runs again in other writers' words. Nothing else of a record changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fault_injection.campaigns.environment import Reporters
from fault_injection.dataset.freeze import freeze
from revelio.errors import DatasetError, InvalidInputError
from revelio.incidents.dataset import open_dataset
from revelio.incidents.exchange import write_records


def rewrite_reports(dataset: Path, out: Path, reporters: Reporters, *, splits: tuple[str, ...] = ()) -> dict[str, int]:
    """Write the dataset's incidents (of ``splits``, all when none is named) to ``out`` with new reports, and freeze it.

    Returns incidents by split. Incidents for which no text fits are left out. Raises ``DatasetError`` when nothing is
    left or a writer would leak, ``InvalidInputError`` when ``out`` holds incidents already.
    """
    folder = out / "incidents"
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidInputError(f"{folder} holds incidents already; choose another --out")
    for item in open_dataset(dataset).read(*splits):
        record = item.record
        reports = reporters.choose(record.notes, record.evidence.window, item.split, record.id)
        if reports:
            write_records(folder / f"{record.id}.jsonl.xz", [replace(record, reports=reports, split=item.split)])
    if not folder.is_dir():
        raise DatasetError(f"no text of these writers fits any incident of {dataset}")
    return freeze(out)
