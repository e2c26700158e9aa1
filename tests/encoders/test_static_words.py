"""Static word vectors: cheap, stable, and damaged files are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.static_words import load_static_words, save_static_words
from revelio.errors import ArtifactError
from revelio.settings import BUNDLED

MODEL = BUNDLED / "model"
TOKENIZER = MODEL / "tokenizer.json"


def test_a_table_survives_a_round_trip_and_a_text_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(30_522, 8)).astype(np.float32)
    save_static_words(tmp_path / "w", vectors)
    words = load_static_words(tmp_path / "w", TOKENIZER)
    one, two, both, none = words.encode(["disk", "full", "disk full", ""])
    assert np.linalg.norm(both) == pytest.approx(1.0, abs=1e-5)
    assert both @ one > 0 < both @ two
    assert not none.any()


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"no table")
    with pytest.raises(ArtifactError, match="w: damaged"):
        load_static_words(tmp_path / "w", TOKENIZER)


def test_like_meanings_are_closer_than_others() -> None:
    words = load_static_words(MODEL / "words.safetensors", TOKENIZER)
    full, space, refused = words.encode(["the disk is full", "No space left on device", "connection refused"])
    assert full @ space > full @ refused + 0.2


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("checkout is slow", True),
        ("Lag.", True),
        ("x x x", False),
        ("a", False),
        ("qwrtz xkcdf", False),
        ("???", False),
        ("", False),
    ],
)
def test_words_are_told_from_letters(tmp_path: Path, text: str, known: bool) -> None:
    save_static_words(tmp_path / "w", np.ones((30_522, 2), dtype=np.float32))
    assert load_static_words(tmp_path / "w", TOKENIZER).knows(text) is known
