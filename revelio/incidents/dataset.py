"""Labelled datasets and their frozen splits. Serving code may not import this module: labels live here.

A dataset is a folder: ``incidents/*.jsonl.xz`` (one record a line; packed or not) and ``manifest.json``, which freezes for
each incident its split and a hash of its file's content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from revelio.errors import DatasetError
from revelio.incidents.exchange import Record, read_records
from revelio.incidents.files import IncidentFiles
from revelio.types import Query

TEST_WRITERS = frozenset({"w6", "w13"})
"""Writers whose texts are used in test splits only."""
TRAIN_WRITERS = ("w1", "w2", "w3", "w4", "w5", "w9", "w10", "w11", "w12")
"""Writers whose texts are used in training only. Any other writer may write for either, but not for both in one dataset."""

SPLITS = ("train", "repeat", "new_location", "new_fault", "new_app", "no_fault")
MANIFEST = "manifest.json"
EARLIER = "earlier.json"
"""Digests of the freezes that the dataset has grown from, none of whose incidents has come into another split since."""


@dataclass(frozen=True, slots=True)
class LabelledIncident:
    """A record with its frozen split: what training and evaluation read."""

    record: Record
    split: str

    @property
    def grades(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], int]:
        """Grade by (template id, bindings) of every proven label."""
        return {(x.template, x.bindings): x.grade for x in self.record.labels if x.proven}

    def grade(self, query: Query) -> int:
        """0 for a query that is not accepted."""
        return self.grades.get((query.template.id, query.bindings), 0)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder of labelled incidents, read lazily."""

    folder: Path
    splits: dict[str, str]
    digest: str

    def read(self, *wanted: str) -> Iterator[LabelledIncident]:
        """The incidents of the wanted splits (all when none is named), in the order of their files."""
        for record in read_records(self.folder / "incidents"):
            split = self.splits.get(record.id, record.split)
            if not wanted or split in wanted:
                yield LabelledIncident(record, split)


def grown_from(folder: Path) -> tuple[str, ...]:
    """Digests of earlier freezes: a model trained on one of them was trained on no incident that is in a test split today."""
    path = folder / EARLIER
    return tuple(json.loads(path.read_bytes())) if path.is_file() else ()


def file_digest(path: Path) -> str:
    """sha256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_dataset(folder: Path, *, verify: bool = True) -> Dataset:
    """Open a dataset folder; with ``verify`` every file named in the manifest is checked against its hash.

    A folder without a manifest is accepted when its records carry their own ``split``.
    """
    manifest = folder / MANIFEST
    if not manifest.is_file():
        if not (folder / "incidents").is_dir():
            raise DatasetError(f"{folder}: neither {MANIFEST} nor a folder incidents/ is there")
        return Dataset(folder, {}, "unfrozen")
    try:
        content = json.loads(manifest.read_bytes())
        splits = {str(k): str(v) for k, v in content["splits"].items()}
        hashes = {str(k): str(v) for k, v in content["files"].items()}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DatasetError(f"{manifest}: not a dataset manifest: {error}") from error
    if verify:
        files = IncidentFiles(folder / "incidents")
        for name, expected in hashes.items():
            if not files.has(name):
                raise DatasetError(f"{files.folder / name}: named in {MANIFEST} but missing")
            if files.digest(name) != expected:
                raise DatasetError(f"{files.folder / name}: differs from what {MANIFEST} froze")
    return Dataset(folder, splits, hashlib.sha256(manifest.read_bytes()).hexdigest()[:12])
