"""Static word vectors: a text is the mean of its tokens' vectors, so that new log lines cost microseconds.

The table is distilled from the report encoder (model2vec; Tulkens & van Dongen, 2024) with weights by frequency (SIF; Arora et
al., 2017), so that both agree on what is alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from revelio.encoders.report import Floats, HashingEncoder, TextEncoder
from revelio.errors import ArtifactError

if TYPE_CHECKING:
    from tokenizers import Encoding

Ints = NDArray[np.int64]

MAX_TOKENS = 128
_MIN_LETTERS = 3
_SILENT = 1e-6
_SPOKEN = re.compile(r"(?=[^\W\d_]{3})[^\W\d_]*[aeiouyAEIOUY]|[^\W\d_\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of several texts: ``spelled [W]`` in lower case, ``text_of [W]`` the text of each, ``vectors [W, S]`` of
    length 1, and ``weight [W]``: how much each tells; frequent words tell little."""

    spelled: tuple[str, ...]
    text_of: Ints
    vectors: Floats
    weight: Floats


class WordEncoder(TextEncoder, Protocol):
    """Also gives the vector of each word."""

    def words(self, texts: Sequence[str]) -> Words:
        """Each word of each text with its unit vector."""


class HashingWords(HashingEncoder):
    """Words as hashed character trigrams. It needs no weights, so tests run anywhere."""

    def words(self, texts: Sequence[str]) -> Words:
        """All words weigh the same."""
        found = [(word, number) for number, text in enumerate(texts) for word in re.findall(r"\w+", text.lower())]
        spelled = tuple(word for word, _ in found)
        number = np.array([n for _, n in found], dtype=np.int64)
        return Words(spelled, number, self.encode(spelled), np.ones(len(spelled), dtype=np.float32))


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
        for row, tokens in zip(found, self._encoded(texts), strict=True):
            if tokens.ids:
                row[:] = self._table[tokens.ids].mean(axis=0) * self._scale
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, norms, out=found, where=norms > 0)
        return found

    def words(self, texts: Sequence[str]) -> Words:
        """Each word of each text with the unit vector of its tokens; words without a vector are left out."""
        spelled: list[str] = []
        text_of: list[int] = []
        vectors: list[Floats] = []
        for number, (text, tokens) in enumerate(zip(texts, self._encoded(texts), strict=True)):
            ids: dict[int, list[int]] = {}
            for index, token in enumerate(tokens.ids):
                ids.setdefault(tokens.token_to_word(index) or 0, []).append(token)
            for word, some in ids.items():
                first, last = tokens.word_to_chars(word) or (0, 0)
                spelled.append(text[first:last].lower())
                text_of.append(number)
                vectors.append(self._table[some].mean(axis=0) * self._scale)
        found = np.array(vectors, dtype=np.float32).reshape(-1, self.dimension)
        norms = np.linalg.norm(found, axis=1)
        there = norms > _SILENT
        return Words(
            tuple(w for w, known in zip(spelled, there.tolist(), strict=True) if known),
            np.array(text_of, dtype=np.int64)[there],
            found[there] / norms[there, None],
            norms[there],
        )

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        return self._tokenizer.encode_batch(list(texts), add_special_tokens=False)

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
