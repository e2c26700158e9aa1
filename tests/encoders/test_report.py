"""Texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.report import CachingEncoder, Floats, HashingEncoder, OnnxEncoder
from revelio.errors import ArtifactError


class Counting(HashingEncoder):
    asked: int = 0

    def encode(self, texts: Sequence[str]) -> Floats:
        self.asked += len(texts)
        return super().encode(texts)


def test_hashing_gives_unit_vectors_and_zero_for_no_words() -> None:
    vectors = HashingEncoder(32).encode(["cart is slow", "!!!"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 0.0])


def test_texts_that_share_words_are_closer() -> None:
    a, b, c = HashingEncoder(256).encode(["the cart is empty", "empty cart", "payment declined"])
    assert a @ b > a @ c


def test_the_cache_asks_for_each_text_once_and_answers_alike() -> None:
    inner = Counting(32)
    cache = CachingEncoder(inner, size=10)
    first = cache.encode(["x", "y", "x"])
    np.testing.assert_array_equal(first, cache.encode(["x", "y", "x"]))
    assert inner.asked == 2


def test_the_cache_stays_within_its_size_even_for_one_large_request() -> None:
    inner = Counting(8)
    cache = CachingEncoder(inner, size=3)
    assert cache.encode([str(i) for i in range(9)]).shape == (9, 8)
    cache.encode(["8"])
    assert inner.asked == 9


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"report\.onnx: missing.*revelio train"):
        OnnxEncoder(tmp_path / "report.onnx", tmp_path / "tokenizer.json")


def test_the_cache_takes_what_is_known_from_the_start() -> None:
    inner = Counting(8)
    vector = inner.encode(["x"])[0]
    cache = CachingEncoder(Counting(8), known={"x": vector})
    np.testing.assert_array_equal(cache.encode(["x"])[0], vector)
    assert isinstance(cache.inner, Counting) and cache.inner.asked == 0


def test_a_texts_vector_does_not_depend_on_its_company() -> None:
    bundled = Path(__file__).parents[2] / "revelio" / "bundled" / "model"
    encoder = OnnxEncoder(bundled / "report.onnx", bundled / "tokenizer.json")
    texts = ["cart", "Checkout has been failing for ten minutes and nobody can pay " * 8, ""]
    together = encoder.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(encoder.encode([text])[0], vector)
    assert np.linalg.norm(together, axis=1) == pytest.approx([1.0, 1.0, 1.0], abs=1e-3)
    assert encoder.encode([]).shape == (0, encoder.dimension)
