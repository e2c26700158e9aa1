"""Text to vectors: the report, and every text that is compared with it (template titles, component names)."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.inference import open_session
from revelio.errors import ArtifactError

Floats = NDArray[np.float32]
MAX_TOKENS = 128
"""Tokens of a report that are read; the rest of a longer one is cut off."""


class TextEncoder(Protocol):
    """Anything that turns texts into unit vectors."""

    dimension: int

    def encode(self, texts: Sequence[str]) -> Floats:
        """``[len(texts), dimension]``, each row of length 1."""


class OnnxEncoder:
    """A sentence-transformers model exported to ONNX: tokenizer.json beside an ONNX file that gives pooled unit vectors."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        """Load both files; ``ArtifactError`` names the one that is missing or damaged."""
        from tokenizers import Tokenizer  # noqa: PLC0415  as costly to import as what `open_session` needs

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
        """Tokenize, run, and give unit vectors.

        Each text by itself: an int8 network scales its activations by all that it reads together, so that a text's vector would
        depend on its company.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            said: Any = self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
            row[:] = said[0]
        return vectors


class HashingEncoder:
    """Signed hashing of words and character trigrams: needs no weights, so tests and first tries run anywhere."""

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
    """Remembers the vectors of short texts that come again and again (template texts, component names)."""

    def __init__(self, inner: TextEncoder, size: int = 50_000, known: Mapping[str, Floats] | None = None) -> None:
        """``size`` bounds the remembered texts, the one unused longest goes first; ``known`` are there from the start."""
        self.inner = inner
        self.dimension = inner.dimension
        self._size = size
        self._known: OrderedDict[str, Floats] = OrderedDict(known or {})

    def encode(self, texts: Sequence[str]) -> Floats:
        """As the inner encoder, asking it only for texts not seen lately."""
        unknown = [t for t in dict.fromkeys(texts) if t not in self._known]
        self._known.update(zip(unknown, self.inner.encode(unknown), strict=True))
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            result[row] = self._known[text]
            self._known.move_to_end(text)
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return result
