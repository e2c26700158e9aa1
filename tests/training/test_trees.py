"""Ranking trees: what is exported gives what was trained, and nothing is learned from nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")
import lightgbm

from revelio.catalog import Catalog
from revelio.encoders.query import TREE_FEATURES, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.errors import ArtifactError, DatasetError
from revelio.ranker.trees import Trees
from revelio.training.trees import fit_trees, write_trees


def test_the_exported_trees_score_as_the_trained_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, len(TREE_FEATURES))).astype(np.float32)
    y = (x[:, 0] + x[:, 3] > 1).astype(int)
    settings = {"objective": "lambdarank", "num_leaves": 6, "verbosity": -1, "num_threads": 1}
    model = lightgbm.train(settings, lightgbm.Dataset(x, y, group=[40] * 10), 7)
    write_trees(model.dump_model(), tmp_path / "t.onnx")
    found, expected = Trees(tmp_path / "t.onnx").log_probabilities(x), model.predict(x)
    np.testing.assert_allclose(found, expected - np.logaddexp.reduce(expected), atol=1e-4)


def test_trees_of_other_features_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_trees({"tree_info": [{"tree_structure": {"leaf_value": 0.5}}]}, tmp_path / "t.onnx")
    monkeypatch.setattr("revelio.ranker.trees.TREE_FEATURES", ("one",))
    with pytest.raises(ArtifactError, match="other features"):
        Trees(tmp_path / "t.onnx")


def test_without_an_accepted_query_there_is_nothing_to_learn(tmp_path: Path) -> None:
    encoder = QueryEncoder(HashingEncoder(), {}, {}, words=HashingEncoder())
    with pytest.raises(DatasetError, match="accepted query"):
        fit_trees([], Catalog(()), encoder, tmp_path / "t.onnx", lambda what, done, total: None)
