"""What a campaign has recorded so far."""

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


def status(out: Path) -> Tally:
    """Count the incidents recorded in ``out``."""
    records = list(records_in(out))
    faults = [r.fault for r in records if r.fault]
    return Tally(
        incidents=len(records),
        by_kind=_counted(f.kind for f in faults),
        by_place=_counted(f.place for f in faults),
        by_split=_counted(r.split for r in records),
        reports=sum(len(r.reports) for r in records),
        void=_counted(v["stage"] for v in void_runs(out)),
    )


def void_runs(out: Path) -> list[dict[str, str]]:
    """The runs that came to nothing, as written in ``void.jsonl``: run, stage, reason. A torn last line is left out."""
    path = out / "void.jsonl"
    if not path.is_file():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line.strip()]


def records_in(out: Path) -> Iterable[Record]:
    """Every incident recorded in ``out``; none where it holds none yet."""
    folder = out / "incidents"
    return read_records(folder) if folder.is_dir() else ()


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
