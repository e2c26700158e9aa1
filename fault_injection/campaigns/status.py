"""What a campaign has recorded so far."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from revelio.systems.incidents.exchange import Record, read_records

DISCARDED = "discarded.jsonl"
EARLIER_DISCARDED = "void.jsonl"
RENAMED_STAGES = {"nobody would write": "no matching report"}
"""Names of stages in files that an earlier version wrote."""


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """Recorded incidents by fault kind, place and split, and the discarded runs, by the stage that failed.

    ``runs`` of two faults gave two incidents each.
    """

    incidents: int
    runs: int
    by_kind: dict[str, int]
    by_place: dict[str, int]
    by_split: dict[str, int]
    reports: int
    discarded: dict[str, int]


def status(out: Path) -> CampaignStatus:
    """Count the incidents recorded in ``out``."""
    records = list(records_in(out))
    faults = [r.fault for r in records if r.fault]
    return CampaignStatus(
        incidents=len(records),
        runs=len({r.run or r.id for r in records}),
        by_kind=_counted(f.kind for f in faults),
        by_place=_counted(f.place for f in faults),
        by_split=_counted(r.split for r in records),
        reports=sum(len(r.reports) for r in records),
        discarded=_counted(v["stage"] for v in discarded_runs(out)),
    )


def discarded_runs(out: Path) -> list[dict[str, str]]:
    """The discarded runs as written in ``discarded.jsonl``: run, stage, reason. A torn last line is left out.

    A dataset recorded by an earlier version has ``void.jsonl`` instead, or as well.
    """
    return [entry for name in (EARLIER_DISCARDED, DISCARDED) for entry in _entries(out / name)]


def _entries(path: Path) -> Iterable[dict[str, str]]:
    if not path.is_file():
        return
    whole = path.read_bytes().rpartition(b"\n")[0]
    for line in whole.splitlines():
        if line.strip():
            entry = json.loads(line)
            yield entry | {"stage": RENAMED_STAGES.get(entry["stage"], entry["stage"])}


def records_in(out: Path) -> Iterable[Record]:
    """Every incident recorded in ``out``; none where it holds none yet."""
    folder = out / "incidents"
    return read_records(folder) if folder.is_dir() else ()


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
