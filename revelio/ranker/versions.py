"""Versions of a model that learned from feedback: a folder of heads fitted beside a base model, and a pointer.

``FOLDER/<base>.<n>/`` holds manifest.json and head.safetensors; ``FOLDER/current.json`` names the active version. Writes are
atomic, and without a usable version the base model answers.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from revelio.encoders.query import FEATURES
from revelio.errors import ArtifactError, InvalidInputError, NotFoundError
from revelio.ranker.artifact import RANKER_WEIGHTS, FeatureNames, Manifest
from revelio.ranker.head import Head

FORMAT = "revelio.head/1"
BASE = "base"
"""The name of the base model, without anything learned, for ``use``."""
_MANIFEST, _WEIGHTS, _CURRENT, _LAST, _LOCK = "manifest.json", "head.safetensors", "current.json", "last_run.json", ".lock"
_UNFINISHED = ".making-"


class RankingFigures(BaseModel):
    """One model on one set of incidents: top-1, top-3 and MRR; 0 without incidents.

    ``auroc`` is how well the no-fault probability separates controls from faults; None without controls.
    """

    top1: float = 0.0
    top3: float = 0.0
    mrr: float = 0.0
    auroc: float | None = None


class Comparison(BaseModel):
    """The active (``before``), the new (``after``) and the base model on incidents that none of them was trained on."""

    name: str
    incidents: int
    before: RankingFigures
    after: RankingFigures
    base: RankingFigures


class LearnedFrom(BaseModel):
    """The verdicts a version was trained on, up to a moment (Unix seconds), on so many answers."""

    answers: int
    found: int
    helpful: int
    not_useful: int
    until: float


class VersionManifest(BaseModel):
    """The manifest of a version. ``parent`` is the model that was active when it was made.

    ``l2`` is the L2 penalty, and the weight of each replayed incident.
    """

    model_config = ConfigDict(extra="forbid")
    format: str = FORMAT
    name: str
    base: str
    base_weights: str
    parent: str
    made_at: float
    l2: float = Field(validation_alias=AliasChoices("l2", "caution"))
    learned: LearnedFrom = Field(validation_alias=AliasChoices("learned", "learnt"))
    comparisons: list[Comparison]
    features: FeatureNames
    templates: list[str]
    weights: str = ""


class LastRun(BaseModel):
    """The result of the latest attempt to learn for a base model.

    ``until`` is the moment of the latest verdict it used, ``outcome`` the result in words; ``failed`` means an exception.
    """

    at: float
    base: str
    until: float
    taken: bool
    outcome: str
    failed: bool = False
    comparisons: list[Comparison] = []


class _Pointer(BaseModel):
    version: str


@dataclass(frozen=True, slots=True)
class Version:
    """One version; ``trouble`` says why it is unusable with the configured model, "" if it is usable."""

    manifest: VersionManifest
    trouble: str = ""


class Versions:
    """The versions of one base model. Reading never raises; damaged versions are skipped or marked."""

    def __init__(self, folder: Path, base: Manifest) -> None:
        """``folder`` need not exist."""
        self.folder = folder
        self.base = base

    def mark(self) -> tuple[int, int] | None:
        """A value that changes when another version becomes active; costs one ``stat``."""
        return pointer_mark(self.folder)

    def current(self) -> str:
        """The name of the active version; that of the base model if none is active or it belongs to another base model."""
        try:
            named = _Pointer.model_validate_json((self.folder / _CURRENT).read_bytes()).version
        except (OSError, ValidationError):
            return self.base.name
        return named if named.startswith(f"{self.base.name}.") else self.base.name

    def list(self) -> tuple[Version, ...]:
        """All readable versions, newest first."""
        found = []
        for path in self.folder.glob(f"*/{_MANIFEST}"):
            if path.parent.name.startswith(_UNFINISHED):
                continue
            try:
                manifest = VersionManifest.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue
            found.append(Version(manifest, self._trouble(manifest)))
        return tuple(sorted(found, key=lambda v: (v.manifest.made_at, v.manifest.name), reverse=True))

    def get(self, name: str) -> VersionManifest:
        """One usable version; ``NotFoundError`` lists the existing ones, ``ArtifactError`` says why it is unusable."""
        versions = {v.manifest.name: v for v in self.list()}
        if name not in versions:
            raise NotFoundError(f"no version {name!r}; choose from: {', '.join([BASE, *versions])}")
        if versions[name].trouble:
            raise ArtifactError(versions[name].trouble)
        return versions[name].manifest

    def head(self, name: str) -> Head | None:
        """The head of a version; None for the base model. ``ArtifactError`` when it is damaged."""
        if name == self.base.name:
            return None
        manifest = self.get(name)
        path = self.folder / name / _WEIGHTS
        try:
            data = path.read_bytes()
            weights = load(data)["weights"]
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise ArtifactError(f"{path}: damaged: {error}; return to the base model with `revelio models use {BASE}`") from error
        whole = weights.ndim == 2 and len(weights) == len(manifest.templates) and bool(np.isfinite(weights).all())
        if hashlib.sha256(data).hexdigest() != manifest.weights or not whole:
            raise ArtifactError(
                f"{path}: damaged: its hash differs from {_MANIFEST}; return to the base model with `revelio models use {BASE}`"
            )
        return Head(tuple(manifest.templates), weights.astype(np.float32))

    def use(self, name: str) -> str:
        """Make a version active (``base``: the base model). Returns the name of the model."""
        chosen = self.base.name if name in (BASE, self.base.name) else self.get(name).name
        self.folder.mkdir(parents=True, exist_ok=True)
        _replace(self.folder / _CURRENT, _Pointer(version=chosen).model_dump_json().encode())
        return chosen

    def next_name(self) -> str:
        """An unused name."""
        tails = [p.name.removeprefix(f"{self.base.name}.") for p in self.folder.glob(f"{self.base.name}.*")]
        return f"{self.base.name}.{1 + max((int(t) for t in tails if t.isdigit()), default=0)}"

    def keep(self, manifest: VersionManifest, head: Head) -> VersionManifest:
        """Write a version without making it active; the write is atomic."""
        data = save({"weights": head.weights})
        whole = manifest.model_copy(update={"weights": hashlib.sha256(data).hexdigest()})
        self.folder.mkdir(parents=True, exist_ok=True)
        for leftover in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        making = Path(tempfile.mkdtemp(dir=self.folder, prefix=_UNFINISHED))
        making.chmod(0o755)
        _write(making / _WEIGHTS, data)
        _write(making / _MANIFEST, whole.model_dump_json(indent=1).encode() + b"\n")
        making.rename(self.folder / whole.name)
        _sync(self.folder)
        return whole

    def last_run(self) -> LastRun | None:
        """The latest attempt for this base model; None before the first."""
        try:
            last = LastRun.model_validate_json((self.folder / _LAST).read_bytes())
        except (OSError, ValidationError):
            return None
        return last if last.base == self.base.name else None

    def record_run(self, run: LastRun) -> None:
        """Record the result of an attempt."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _replace(self.folder / _LAST, run.model_dump_json(indent=1).encode() + b"\n")

    @contextmanager
    def learning(self) -> Iterator[None]:
        """A lock for one process at a time; ``InvalidInputError`` for the others. It is released when the process dies."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / _LOCK).open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InvalidInputError(f"{self.folder}: another process is already learning; wait until it ends") from error
            yield

    def _trouble(self, manifest: VersionManifest) -> str:
        if manifest.format != FORMAT or manifest.features != list(FEATURES):
            return f"{manifest.name}: made by another version of Revelio; run `revelio learn` again"
        if manifest.base != self.base.name or manifest.base_weights != self.base.files.get(RANKER_WEIGHTS):
            return f"{manifest.name}: made for the model {manifest.base}, not for {self.base.name}; run `revelio learn` again"
        return ""


def pointer_mark(folder: Path) -> tuple[int, int] | None:
    """See ``Versions.mark``."""
    try:
        stat = (folder / _CURRENT).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    os.close(handle)
    _write(Path(name), data)
    Path(name).chmod(0o644)
    Path(name).replace(path)
    _sync(path.parent)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
