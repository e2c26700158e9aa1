"""Rewrites the reports of recorded runs with other writers' texts. Nothing else of a record changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fault_injection.campaigns.environment import Reporters
from fault_injection.dataset.freeze import freeze
from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.dataset import TRAIN_WRITERS, open_dataset
from revelio.systems.incidents.exchange import write_records

ReportersOf = Callable[[str, str], Reporters | None]
"""The reporters of an application (first argument) for a split (second); None when they may write nothing there."""


def writers_for(split: str, writers: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``writers`` whose texts a split may have: training writers in ``train``, all others in the test splits."""
    return tuple(w for w in writers if (w in TRAIN_WRITERS) == (split == "train"))


def rewrite_reports(
    dataset: Path, out: Path, reporters_of: ReportersOf, *, splits: tuple[str, ...] = (), apps: tuple[str, ...] = ()
) -> dict[str, int]:
    """Write the dataset's incidents to ``out`` with new reports, and freeze it.

    ``splits`` and ``apps`` narrow the incidents down; all when none is named. Returns incidents by split. Incidents for which
    no text fits are left out. Raises ``DatasetError`` when nothing is left or a writer would leak, ``InvalidInputError`` when
    ``out`` holds incidents already.
    """
    folder = out / "incidents"
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidInputError(f"{folder} holds incidents already; choose another --out")
    for item in open_dataset(dataset).read(*splits):
        record = item.record
        reporters = reporters_of(record.system, item.split) if not apps or record.system in apps else None
        window, alone = record.evidence.window, not record.run
        reports = reporters.choose(record.notes, window, item.split, record.id, site_wide=alone) if reporters else ()
        if reports:
            write_records(folder / f"{record.id}.jsonl.xz", [replace(record, reports=reports, split=item.split)])
    if not folder.is_dir():
        raise DatasetError(f"no text of these writers fits any incident of {dataset}")
    return freeze(out)
