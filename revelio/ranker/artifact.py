"""A model on disk: a folder with manifest.json, ONNX weights, the tokenizer and a model card. Nothing is unpickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, FiniteFloat, TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from revelio.catalog import Catalog
from revelio.encoders.evidence import FAMILIES
from revelio.encoders.null_distribution import NullDistribution, NullDistributions
from revelio.encoders.query import FEATURES
from revelio.encoders.report import Floats, OnnxEncoder, TextEncoder
from revelio.encoders.static_words import load_static_words
from revelio.errors import ArtifactError
from revelio.ranker.scoring import Calibration
from revelio.ranker.session import Ranker
from revelio.support.bounded_file import OversizedError, read_bounded
from revelio.types import Reading

FORMAT = "revelio.model/8"
MANIFEST = "manifest.json"
REPORT_WEIGHTS = "report.onnx"
TOKENIZER = "tokenizer.json"
RANKER_WEIGHTS = "ranker.onnx"
TEXTS = "texts.safetensors"
NULL_DISTRIBUTIONS = "background.json"
"""The name is part of the format."""
CARD = "model_card.md"
MOST_JSON = 50_000_000
"""Bytes of a JSON file of the folder."""

WORDS = "words.safetensors"
"""Static word vectors."""

FILES = (REPORT_WEIGHTS, TOKENIZER, RANKER_WEIGHTS, TEXTS, NULL_DISTRIBUTIONS, WORDS)

_NULL_DISTRIBUTIONS = TypeAdapter(dict[str, tuple[int, tuple[FiniteFloat, ...]]])


FORMER_NAMES = {"surprise": "rarity", "surprise_among_all": "rarity_overall"}
"""Current names of features by their names in older models."""
FeatureNames = Annotated[list[str], AfterValidator(lambda names: [FORMER_NAMES.get(n, n) for n in names])]


class Manifest(BaseModel):
    """The content of manifest.json."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    format: str = FORMAT
    name: str
    catalog: str
    dataset: str
    seed: int
    features: FeatureNames = list(FEATURES)
    families: list[str] = list(FAMILIES)
    tool_texts: dict[str, str]
    noise: dict[str, float]
    reads: dict[str, tuple[Reading, ...]] = {}
    abstain_slope: float
    abstain_offset: float
    temperature: float = 1.0
    metrics: dict[str, float]
    packages: dict[str, str]
    files: dict[str, str]

    @property
    def calibration(self) -> Calibration:
        """The fitted calibration."""
        return Calibration(self.abstain_slope, self.abstain_offset, self.temperature)


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Hash the weight files into the manifest, and write it last: a folder without a manifest is unfinished."""
    hashes = {name: _sha256(folder / name) for name in FILES}
    whole = manifest.model_copy(update={"files": hashes})
    (folder / MANIFEST).write_text(whole.model_dump_json(indent=1) + "\n", encoding="utf-8")


def load_manifest(folder: Path) -> Manifest:
    """Read and check the manifest alone."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ArtifactError(
            f"{folder}: no model here ({MANIFEST} is missing); train one with `revelio train` or set REVELIO_MODEL"
        )
    try:
        manifest = Manifest.model_validate_json(read_bounded(path, MOST_JSON))
    except OversizedError as error:
        raise ArtifactError(f"{path}: damaged: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        raise ArtifactError(f"{path}: damaged: {where + ': ' if where else ''}{first['msg']}") from error
    if manifest.format != FORMAT:
        raise ArtifactError(f"{path}: format is {manifest.format!r}, this version reads {FORMAT!r}; train a new model")
    if manifest.features != list(FEATURES) or manifest.families != list(FAMILIES):
        raise ArtifactError(f"{path}: trained with other features than this version has; train a new model with `revelio train`")
    return manifest


def load_ranker(folder: Path, catalog: Catalog | None = None) -> Ranker:
    """Load a model folder; ``ArtifactError`` names the part that is missing, damaged or incompatible.

    ``catalog`` describes tools and metrics that the model was not trained with.
    """
    manifest = load_manifest(folder)
    tools = catalog.tools if catalog else ()
    for name in FILES:
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{path}: missing from the model folder; restore it or train a new model")
        if _sha256(path) != manifest.files.get(name):
            raise ArtifactError(f"{path}: damaged: its hash differs from {MANIFEST}; restore it or train a new model")
    return Ranker(
        name=manifest.name,
        text=OnnxEncoder(folder / REPORT_WEIGHTS, folder / TOKENIZER),
        weights=folder / RANKER_WEIGHTS,
        calibration=manifest.calibration,
        tool_texts={t.name: f"{t.title}. {t.about}".strip() for t in tools} | manifest.tool_texts,
        noise={m.name: m.noise_floor for t in tools for m in t.metrics} | manifest.noise,
        nulls=_load_null_distributions(folder / NULL_DISTRIBUTIONS),
        reads=manifest.reads,
        known=_load_texts(folder / TEXTS),
        words=load_static_words(folder / WORDS, folder / TOKENIZER),
    )


def save_texts(folder: Path, text: TextEncoder, texts: Iterable[str]) -> None:
    """Save the vectors of texts that every answer needs (tools, templates), so that the first answer is fast."""
    unique = sorted(set(texts))
    save_file({"vectors": text.encode(unique)}, folder / TEXTS, {"texts": json.dumps(unique)})


def _load_texts(path: Path) -> dict[str, Floats]:
    try:
        with safe_open(path, framework="np") as file:
            texts, vectors = json.loads((file.metadata() or {})["texts"]), file.get_tensor("vectors")
            if not np.isfinite(vectors).all():
                raise ValueError("it holds values that are not numbers")
            return dict(zip(texts, vectors, strict=True))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{path}: damaged: {error}; restore it or train a new model") from error


def save_null_distributions(folder: Path, nulls: NullDistributions) -> None:
    """Save the null distributions: for each template its number of incidents and its readings there."""
    found = {t: [u.incidents, u.readings] for t, u in sorted(nulls.templates.items())}
    lines = ",\n".join(f"{json.dumps(t)}: {json.dumps(u, separators=(',', ':'))}" for t, u in found.items())
    (folder / NULL_DISTRIBUTIONS).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _load_null_distributions(path: Path) -> NullDistributions:
    try:
        found = _NULL_DISTRIBUTIONS.validate_json(read_bounded(path, MOST_JSON))
    except OversizedError as error:
        raise ArtifactError(f"{path}: damaged: {error}; restore it or train a new model") from error
    except ValidationError as error:
        raise ArtifactError(f"{path}: damaged: {error.errors()[0]['msg']}; restore it or train a new model") from error
    return NullDistributions({template: NullDistribution(*usual) for template, usual in found.items()})


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
