"""A report encoder in int8 stands in for the one that it was made from. ``pytest -s`` prints how well."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from revelio.encoders.report import Floats, OnnxEncoder
from revelio.systems.incidents.dataset import open_dataset
from revelio.training.export import base_encoder, export_encoder

DATASET = Path(__file__).parents[2] / "data" / "three_apps"


@pytest.fixture(scope="module")
def reports() -> list[str]:
    """Different reports of the dataset's first incidents, 200 of them."""
    read = open_dataset(DATASET, verify=False).read()
    texts = dict.fromkeys(r.text for labelled in islice(read, 120) for r in labelled.record.reports)
    return list(texts)[:200]


@pytest.fixture(scope="module")
def encoded(reports: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Floats, Floats]]:
    """Their vectors by the published encoder as it is, and in int8."""
    folder = tmp_path_factory.mktemp("encoders")
    vectors = []
    for quantize in (False, True):
        weights, tokenizer = folder / f"{quantize}.onnx", folder / "tokenizer.json"
        export_encoder(base_encoder(), weights, tokenizer, quantize=quantize)
        vectors.append(OnnxEncoder(weights, tokenizer).encode(reports))
    yield vectors[0], vectors[1]


def test_a_report_in_int8_points_where_it_did(encoded: tuple[Floats, Floats]) -> None:
    full, small = encoded
    cosine = (full * small).sum(axis=1)
    print(f"\nint8 against fp32 over {len(full)} reports: cosine {cosine.mean():.4f} on average, {cosine.min():.4f} at least")
    assert cosine.mean() > 0.985
    assert cosine.min() > 0.96


def test_a_report_in_int8_has_the_neighbours_that_it_had(encoded: tuple[Floats, Floats]) -> None:
    full, small = (_nearest(v) for v in encoded)
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
