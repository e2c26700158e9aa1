"""Distils the report encoder into static word vectors: each token alone, its main directions, and weights by frequency."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

from revelio.encoders.report import Floats
from revelio.encoders.static_words import save_static_words
from revelio.ranker.artifact import WORDS
from revelio.settings import BUNDLED
from revelio.training.export import base_encoder
from revelio.training.log import Report

WIDTH = 96
_BATCH = 512
_FIRST_WORD = 999
"""Ids below are special tokens and unused ones in BERT's vocabulary, which lists the others by frequency."""
_SIF = 1e-3
"""The share of all words at which a word counts half."""


def copy_or_distil(folder: Path, given: Path | None, progress: Report) -> None:
    """Write the static words of a model folder: those of the model ``given`` or of the bundled one, which are distilled from the
    published encoder; where neither has any, they are distilled again."""
    known = next((f / WORDS for f in (given, folder, BUNDLED / "model") if f and (f / WORDS).is_file()), None)
    if known is None:
        progress("distil static words", 0, 1)
        save_static_words(folder / WORDS, distil(base_encoder()))
    elif known != folder / WORDS:
        shutil.copyfile(known, folder / WORDS)


def distil(source: Path) -> Floats:
    """``[V, WIDTH]`` of the transformer and tokenizer in a sentence-transformers folder. Takes a minute."""
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415  takes seconds to import

    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModel.from_pretrained(source, attn_implementation="eager").eval()
    vectors = []
    with torch.no_grad():
        for start in range(0, len(tokenizer), _BATCH):
            ids = torch.arange(start, min(start + _BATCH, len(tokenizer)))
            begin, end = torch.full_like(ids, tokenizer.cls_token_id), torch.full_like(ids, tokenizer.sep_token_id)
            said = torch.stack([begin, ids, end], dim=1)
            vectors.append(model(input_ids=said, attention_mask=torch.ones_like(said)).last_hidden_state.mean(1).numpy())
    return reduced(np.concatenate(vectors))


def reduced(vectors: Floats) -> Floats:
    """The token vectors ``[V, D]`` along their ``WIDTH`` main directions, frequent words weighted down by Zipf's law."""
    centred = vectors - vectors.mean(axis=0)
    directions = np.linalg.svd(centred.T @ centred)[0][:, :WIDTH]
    share = 1.0 / np.maximum(2, np.arange(len(vectors)) - _FIRST_WORD + 10)
    weight = _SIF / (_SIF + share / share.sum())
    weight[:_FIRST_WORD] = 0.0
    return np.asarray((centred @ directions) * weight[:, None], dtype=np.float32)
