"""Completes a model folder: static word vectors and ranking trees beside its network, then the manifest."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from revelio.catalog import Catalog
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import CachingEncoder, OnnxEncoder
from revelio.encoders.static_words import load_static_words, save_static_words
from revelio.incidents.dataset import LabelledIncident
from revelio.ranker import artifact
from revelio.settings import BUNDLED
from revelio.training.export import base_encoder
from revelio.training.static_words import distil
from revelio.training.trees import Report, fit_trees


def add_trees(
    folder: Path,
    manifest: artifact.Manifest,
    incidents: Iterable[LabelledIncident],
    catalog: Catalog,
    words: Path | None = None,
    progress: Report = lambda what, done, total: None,
) -> artifact.Manifest:
    """Fit the trees on these incidents, and write the manifest last.

    Static words are those of the model folder ``words`` or of the bundled one, which are distilled from the published encoder;
    where neither has any, they are distilled again.
    """
    path, tokenizer = folder / artifact.WORDS, folder / artifact.TOKENIZER
    given = next((f / artifact.WORDS for f in (words, folder, BUNDLED / "model") if f and (f / artifact.WORDS).is_file()), None)
    if given is None:
        progress("distil static words", 0, 1)
        save_static_words(path, distil(base_encoder()))
    elif given != path:
        shutil.copyfile(given, path)
    encoder = QueryEncoder(
        CachingEncoder(OnnxEncoder(folder / artifact.REPORT_WEIGHTS, tokenizer)),
        manifest.tool_texts,
        manifest.noise,
        reads=manifest.reads,
        words=CachingEncoder(load_static_words(path, tokenizer)),
    )
    fit_trees(incidents, catalog, encoder, folder / artifact.TREES, progress)
    artifact.save_manifest(folder, artifact.with_trees(manifest))
    return artifact.load_manifest(folder)
