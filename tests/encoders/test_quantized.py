"""A report encoder in int8 stands in for the one that it was made from. ``pytest -s`` prints how well."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from revelio.encoders.report import MAX_TOKENS, Floats, OnnxEncoder
from revelio.systems.incidents.dataset import open_dataset
from revelio.training.export import base_encoder, export_encoder
from revelio.training.report_encoder import load

DATASET = Path(__file__).parents[2] / "data" / "three_apps"


@pytest.fixture(scope="module")
def reports() -> list[str]:
    """Different reports of the dataset's first incidents, 200 of them."""
    read = open_dataset(DATASET, verify=False).read()
    texts = dict.fromkeys(r.text for labelled in islice(read, 120) for r in labelled.record.reports)
    return list(texts)[:200]


@pytest.fixture(scope="module")
def encoded(reports: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Floats]]:
    """Their vectors by the published encoder in torch, exported as it is, and in int8."""
    folder = tmp_path_factory.mktemp("encoders")
    model = load(base_encoder())
    model.max_seq_length = MAX_TOKENS
    vectors = {"torch": np.asarray(model.encode(reports))}
    for name in ("fp32", "int8"):
        weights, tokenizer = folder / f"{name}.onnx", folder / "tokenizer.json"
        export_encoder(base_encoder(), weights, tokenizer, quantize=name == "int8")
        vectors[name] = OnnxEncoder(weights, tokenizer).encode(reports)
    yield vectors


@pytest.mark.parametrize(("exported", "mean", "least"), [("fp32", 0.9999, 0.9999), ("int8", 0.99, 0.96)])
def test_serving_gives_the_vectors_of_torch(encoded: dict[str, Floats], exported: str, mean: float, least: float) -> None:
    cosine = (encoded["torch"] * encoded[exported]).sum(axis=1)
    print(
        f"\n{exported} against torch, {len(cosine)} reports: cosine {cosine.mean():.4f} on average, {cosine.min():.4f} at least"
    )
    assert cosine.mean() > mean
    assert cosine.min() > least


def test_a_report_in_int8_has_the_neighbours_that_it_had(encoded: dict[str, Floats]) -> None:
    full, small = _nearest(encoded["fp32"]), _nearest(encoded["int8"])
    first = float(np.mean(full[:, 0] == small[:, 0]))
    third = float(np.mean([one in near[:3] for one, near in zip(full[:, 0], small, strict=True)]))
    shared = float(np.mean([len(set(one) & set(other)) / 10 for one, other in zip(full, small, strict=True)]))
    print(f"\nnearest report: the same for {first:.3f}, among the first three for {third:.3f}; {shared:.3f} of ten are the same")
    assert third > 0.97
    assert shared > 0.85


def _nearest(vectors: Floats) -> np.ndarray:
    """The ten reports closest to each, closest first."""
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1)[:, :10]
