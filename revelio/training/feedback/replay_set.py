"""Chooses the labelled incidents that ship with the model: to replay, and to compare versions on."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.dataset import MANIFEST, TEST_WRITERS, LabelledIncident, file_digest, open_dataset
from revelio.systems.incidents.exchange import Record, write_records
from revelio.training.evaluation.runner import CONTROLS, TRAINING
from revelio.training.feedback.examples import REPORTS

ONE_IN = 5
"""One in so many held-out incidents is a control, so that the no-fault probability is compared too."""

Progress = Callable[[str, int, int], None]


def choose(
    dataset: Path, out: Path, *, train: int, held_out: int, progress: Progress = lambda what, done, total: None
) -> dict[str, int]:
    """Write at most ``train`` incidents of the training split and ``held_out`` of the others as a dataset folder.

    Fault kinds take turns, so that rare ones are included, and a fifth of the held-out incidents are controls. Results, notes
    and unused reports are left out. Returns the number of incidents by split. Raises ``DatasetError`` without any of either.
    """
    if out.exists() and out.resolve() in (dataset.resolve(), *dataset.resolve().parents):
        raise InvalidInputError(f"{out} contains the dataset itself; write to another folder")
    known = list(open_dataset(dataset).read())
    chosen = [
        *_in_turns([x for x in known if x.split == TRAINING], train),
        *_in_turns([x for x in known if x.split not in (TRAINING, CONTROLS)], held_out - held_out // ONE_IN),
        *_in_turns([x for x in known if x.split == CONTROLS], held_out // ONE_IN),
    ]
    if not 0 < sum(x.split == TRAINING for x in chosen) < len(chosen):
        raise DatasetError(f"{dataset}: needs incidents of the split {TRAINING} and of another split")
    folder = out / "incidents"
    shutil.rmtree(folder, ignore_errors=True)
    for done, incident in enumerate(chosen, 1):
        write_records(folder / f"{incident.record.id}.jsonl.xz", [_bare(incident)])
        progress("write incidents", done, len(chosen))
    manifest = {
        "splits": {x.record.id: x.split for x in chosen},
        "files": {p.name: file_digest(p) for p in sorted(folder.iterdir())},
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    counts: dict[str, int] = defaultdict(int)
    for incident in chosen:
        counts[incident.split] += 1
    return dict(counts)


def _in_turns(incidents: list[LabelledIncident], most: int) -> list[LabelledIncident]:
    by_kind: dict[str, list[LabelledIncident]] = defaultdict(list)
    for one in sorted(incidents, key=lambda x: _lot(x.record.id)):
        by_kind[f"{one.split} {one.record.fault.kind if one.record.fault else ''}"].append(one)
    turns = [(turn, _lot(kind), one) for kind, ones in by_kind.items() for turn, one in enumerate(ones)]
    return [one for _, _, one in sorted(turns, key=lambda t: t[:2])[:most]]


def _lot(name: str) -> bytes:
    """A pseudo-random sort key that is the same each time."""
    return hashlib.sha256(name.encode()).digest()


def _bare(incident: LabelledIncident) -> Record:
    record = incident.record
    testing = incident.split != TRAINING
    reports = [r for r in record.reports if (r.writer in TEST_WRITERS) == testing] or list(record.reports)
    return replace(record, results=(), notes=(), reports=tuple(reports[:REPORTS]))
