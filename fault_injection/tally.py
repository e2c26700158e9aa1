"""What a campaign has recorded so far, and how often each label was proven."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from revelio.incidents.exchange import Record, read_records


@dataclass(frozen=True, slots=True)
class Tally:
    """Recorded incidents by fault kind, place and split, and the runs that were void, by reason."""

    incidents: int
    by_kind: dict[str, int]
    by_place: dict[str, int]
    by_split: dict[str, int]
    reports: int
    void: dict[str, int]


@dataclass(frozen=True, slots=True)
class LabelProof:
    """How often one accepted template was proven for one kind: ``incidents`` have at least one proven query of it."""

    kind: str
    template: str
    grade: int
    incidents: int
    of: int
    executed: int
    proven: int
    in_baseline: int


def status(out: Path) -> Tally:
    """Count the incidents recorded in ``out``."""
    records = list(_records(out))
    faults = [r.fault for r in records if r.fault]
    return Tally(
        incidents=len(records),
        by_kind=_counted(f.kind for f in faults),
        by_place=_counted(f.place for f in faults),
        by_split=_counted(r.split for r in records),
        reports=sum(len(r.reports) for r in records),
        void=_counted(v["stage"] for v in void_runs(out)),
    )


def check_labels(out: Path) -> tuple[LabelProof, ...]:
    """For each kind and accepted template: in how many incidents at least one of its queries was proven."""
    of: Counter[str] = Counter()
    found: dict[tuple[str, str, int], Counter[str]] = {}
    for record in _records(out):
        if record.fault is None:
            continue
        kind = record.fault.kind
        of[kind] += 1
        once: set[tuple[str, str, int]] = set()
        for label in record.labels:
            key = (kind, label.template, label.grade)
            counts = found.setdefault(key, Counter())
            counts["executed"] += label.signal is not None
            counts["proven"] += label.proven
            counts["in_baseline"] += (label.baseline_signal or 0.0) >= 0.5
            if label.proven and key not in once:
                once.add(key)
                counts["incidents"] += 1
    return tuple(
        LabelProof(kind, template, grade, c["incidents"], of[kind], c["executed"], c["proven"], c["in_baseline"])
        for (kind, template, grade), c in sorted(found.items())
    )


def void_runs(out: Path) -> list[dict[str, str]]:
    """The runs that came to nothing, as written in ``void.jsonl``: run, stage, reason. A torn last line is left out."""
    path = out / "void.jsonl"
    if not path.is_file():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line.strip()]


def _records(out: Path) -> Iterable[Record]:
    folder = out / "incidents"
    return read_records(folder) if folder.is_dir() else ()


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
