"""Static word vectors: a text is the mean of its tokens' vectors, so that new log lines cost microseconds.

The table is distilled from the report encoder (model2vec; Tulkens & van Dongen, 2024) with weights by frequency (SIF; Arora et
al., 2017), so that both agree on what is alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from revelio.encoders.report import Floats
from revelio.errors import ArtifactError

MAX_TOKENS = 128
_MIN_LETTERS = 3
_SPOKEN = re.compile(r"(?=[^\W\d_]{3})[^\W\d_]*[aeiouyAEIOUY]|[^\W\d_\x00-\x7f]")


class StaticWords:
    """``table [V, S]`` in int8 and its ``scale [S]``, with the tokenizer of the report encoder."""

    def __init__(self, table: NDArray[np.int8], scale: Floats, tokenizer: Path) -> None:
        """Load the tokenizer, which has ``V`` tokens."""
        from tokenizers import Tokenizer  # noqa: PLC0415  as slow to import as onnxruntime

        self._table, self._scale = table, scale
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self.dimension = int(table.shape[1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors ``[len(texts), S]``; zeros for a text without words."""
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, tokens in zip(found, self._tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True):
            if tokens.ids:
                row[:] = self._table[tokens.ids].mean(axis=0) * self._scale
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return found

    def knows(self, text: str) -> bool:
        """Whether a text says anything: a word of at least three letters that can be spoken, or that is a token of its own.

        "slow", "Lag" and "DNS" are words, "a", "x x x" and "qwrtz" are not. Letters beyond ASCII always make a word.
        """
        if _SPOKEN.search(text):
            return True
        tokens = self._tokenizer.encode(text, add_special_tokens=False)
        often = Counter(tokens.word_ids)
        found = zip(tokens.tokens, tokens.word_ids, strict=True)
        return any(len(token) >= _MIN_LETTERS and token.isalnum() and often[word] == 1 for token, word in found)


def save_static_words(path: Path, vectors: Floats) -> None:
    """Save the token vectors ``[V, S]`` in int8."""
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-9) / 127.0
    save_file({"table": np.round(vectors / scale).astype(np.int8), "scale": scale.astype(np.float32)}, path)


def load_static_words(path: Path, tokenizer: Path) -> StaticWords:
    """Load what ``save_static_words`` wrote; ``ArtifactError`` when it is damaged."""
    try:
        found = load_file(path)
        table, scale = found["table"], found["scale"]
        if table.dtype != np.int8 or table.ndim != 2 or scale.shape != (table.shape[1],) or not np.isfinite(scale).all():
            raise ValueError("it has another shape than a table of words")
        return StaticWords(table, scale, tokenizer)
    except (SafetensorError, KeyError, ValueError) as error:
        raise ArtifactError(f"{path}: damaged: {error}; restore it or train a new model") from error
