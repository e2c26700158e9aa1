"""Labelled datasets and their frozen splits. Serving code may not import this module: labels live here.

A dataset is a folder: ``incidents/*.jsonl.xz`` (one record a line; packed or not) and ``manifest.json``, which freezes for
each incident its split and a hash of its file's content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from revelio.catalog import Catalog, load_catalog
from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import Record, read_records, records_of
from revelio.systems.incidents.files import IncidentFiles
from revelio.types import Query

TEST_WRITERS = frozenset({"w6", "w13"})
"""Writers whose texts are used in test splits only."""
TRAIN_WRITERS = ("w1", "w2", "w3", "w4", "w5", "w9", "w10", "w11", "w12")
"""Writers whose texts are used in training only. Any other writer may write for either, but not for both in one dataset."""

SPLITS = ("train", "repeat", "new_location", "new_fault", "new_app", "no_fault")
MANIFEST = "manifest.json"
CATALOG = "catalog.yaml"
"""The catalog of a dataset whose records belong to another one than that of the settings."""
EARLIER = "earlier.json"
"""Digests of the freezes that the dataset has grown from, none of whose incidents has come into another split since."""


@dataclass(frozen=True, slots=True)
class LabelledIncident:
    """A record with its frozen split and the catalog of its dataset: what training and evaluation read."""

    record: Record
    split: str
    catalog: Catalog | None = None

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
    catalog: Catalog | None = None
    """The catalog of its records; None for that of the settings."""
    others: tuple[Dataset, ...] = ()
    """Datasets that are read after this one."""

    @property
    def name(self) -> str:
        """The names of its folders."""
        return "+".join(d.folder.name for d in (self, *self.others))

    def all_tools(self, default: Catalog) -> Catalog:
        """The tools of all catalogs, those of the first dataset first; ``default`` for a dataset without one."""
        catalogs = [d.catalog or default for d in (self, *self.others)]
        return Catalog(tuple({repr(t): t for c in catalogs for t in c.tools}.values()))

    def read(self, *wanted: str) -> Iterator[LabelledIncident]:
        """The incidents of the wanted splits (all when none is named), in the order of their files."""
        where: dict[str, Path] = {}
        for part in (self, *self.others):
            for record in part._records(wanted):
                if where.setdefault(record.id, part.folder) != part.folder:
                    raise DatasetError(f"incident {record.id!r} is in {where[record.id]} and in {part.folder}; rename one")
                split = part.splits.get(record.id, record.split)
                if not wanted or split in wanted:
                    yield LabelledIncident(record, split, part.catalog)

    def _records(self, wanted: tuple[str, ...]) -> Iterator[Record]:
        """The records of this dataset alone, without files named after an incident of another split."""
        if not self.splits or not (self.folder / "incidents").is_dir():
            yield from read_records(self.folder / "incidents")
            return
        files = IncidentFiles(self.folder / "incidents")
        for name in files.names():
            split = self.splits.get(name.split(".jsonl")[0])
            if not wanted or split is None or split in wanted:
                yield from records_of(files, name)


def grown_from(folder: Path) -> tuple[str, ...]:
    """Digests of earlier freezes: a model trained on one of them was trained on no incident that is in a test split today."""
    path = folder / EARLIER
    return tuple(json.loads(path.read_bytes())) if path.is_file() else ()


def file_digest(path: Path) -> str:
    """sha256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_datasets(parts: Sequence[tuple[Path, Catalog | None]]) -> Dataset:
    """Several datasets as one, each with its own catalog; an incident id must not be in two of them."""
    first, *others = (open_dataset(folder, catalog=catalog) for folder, catalog in parts)
    if not others:
        return first
    digests = "".join(d.digest for d in (first, *others))
    return replace(first, others=tuple(others), digest=hashlib.sha256(digests.encode()).hexdigest()[:12])


def open_dataset(folder: Path, *, verify: bool = True, catalog: Catalog | None = None) -> Dataset:
    """Open a dataset folder; with ``verify`` every file named in the manifest is checked against its hash.

    A folder without a manifest is accepted when its records carry their own ``split``. Without ``catalog`` its records belong
    to the catalog in the folder, if there is one.
    """
    if catalog is None and (folder / CATALOG).is_file():
        catalog = load_catalog(folder / CATALOG)
    manifest = folder / MANIFEST
    if not manifest.is_file():
        if not (folder / "incidents").is_dir():
            raise DatasetError(f"{folder}: neither {MANIFEST} nor a folder incidents/ is there")
        return Dataset(folder, {}, "unfrozen", catalog)
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
    return Dataset(folder, splits, hashlib.sha256(manifest.read_bytes()).hexdigest()[:12], catalog)
