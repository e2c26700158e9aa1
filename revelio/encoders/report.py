"""Text to vectors: the report, and all texts that are compared with it (template titles, component names)."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from revelio.encoders.inference import open_session
from revelio.errors import ArtifactError

Floats = NDArray[np.float32]
MAX_TOKENS = 128
"""A longer report is truncated to so many tokens."""


class TextEncoder(Protocol):
    """Turns texts into unit vectors."""

    dimension: int

    def encode(self, texts: Sequence[str]) -> Floats:
        """``[len(texts), dimension]``, each row of length 1."""


class OnnxEncoder:
    """A sentence-transformers model exported to ONNX, with its tokenizer.json; the network returns pooled unit vectors."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        """Load both files; ``ArtifactError`` names a missing or damaged one."""
        from tokenizers import Tokenizer  # noqa: PLC0415  as slow to import as onnxruntime

        for path in (weights, tokenizer):
            if not path.is_file():
                raise ArtifactError(f"{path}: missing from the model folder; restore it or train again with `revelio train`")
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the tokenizers library raises plain Exception
            raise ArtifactError(f"{tokenizer}: damaged: {error}") from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._session = open_session(weights)
        self.dimension = int(self._session.get_outputs()[0].shape[-1])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Tokenize, run, and return unit vectors.

        One text per pass: an int8 network scales its activations by the whole batch, so that the vector of a text would
        depend on the other texts.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            said: Any = self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
            row[:] = said[0]
        if not np.isfinite(vectors).all():
            raise ArtifactError(
                "the text encoder gives values that are not numbers; restore the model folder or train a new model"
            )
        return vectors


class HashingEncoder:
    """Signed hashing of words and character trigrams. It needs no weights, so tests and baselines run anywhere."""

    def __init__(self, dimension: int = 64) -> None:
        """``dimension`` is the length of each vector."""
        self.dimension = dimension

    def encode(self, texts: Sequence[str]) -> Floats:
        """Deterministic across processes."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                for piece in (word, *(word[i : i + 3] for i in range(len(word) - 2))):
                    digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
                    value = int.from_bytes(digest, "big")
                    row[value % self.dimension] += 1.0 if value >> 63 else -1.0
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows


class CachingEncoder:
    """Caches the vectors of recurring short texts (template texts, component names). Safe to share between threads."""

    def __init__(self, inner: TextEncoder, size: int = 50_000, known: Mapping[str, Floats] | None = None) -> None:
        """At most ``size`` texts are cached, least recently used out first; ``known`` vectors are cached from the start."""
        self.inner = inner
        self.dimension = inner.dimension
        self._cache: LRUCache[str, Floats] = LRUCache(size)
        self._cache.update(known or {})
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Floats:
        """As the inner encoder, which encodes only texts that are not cached."""
        unique = dict.fromkeys(texts)
        with self._lock:
            vectors = {text: self._cache[text] for text in unique if text in self._cache}
        new = [text for text in unique if text not in vectors]
        encoded = dict(zip(new, self.inner.encode(new), strict=True))
        with self._lock:
            self._cache.update(encoded)
        vectors |= encoded
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(result, texts, strict=True):
            row[:] = vectors[text]
        return result
