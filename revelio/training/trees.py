"""Fits the ranking trees of a model folder: LightGBM's LambdaMART, written as an ONNX tree ensemble."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from onnx import TensorProto, checker, helper, save

from revelio.candidates import candidates, inventory
from revelio.catalog import Catalog
from revelio.encoders.query import TREE_FEATURES, QueryEncoder
from revelio.encoders.report import Floats
from revelio.errors import DatasetError
from revelio.incidents.dataset import LabelledIncident
from revelio.ranker.trees import INPUT, OUTPUT

REPORTS = 2
"""Reports of each incident that are used; the trees read little from them."""
KEPT = 40
"""Wrong candidates that are used, of each kind: with the largest readings, with the best matching words; at random, twice as
many and a half."""
TREES = 120
_SETTINGS = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.07,
    "min_data_in_leaf": 20,
    "feature_fraction": 0.5,
    "lambda_l2": 1.0,
    "label_gain": [0, 1, 3, 15],
    "lambdarank_truncation_level": 10,
    "num_threads": 1,
    "deterministic": True,
    "seed": 0,
    "verbosity": -1,
}
_READ, _WORDS = TREE_FEATURES.index("worst"), TREE_FEATURES.index("words_component")
Report = Callable[[str, int, int], None]


def fit_trees(
    incidents: Iterable[LabelledIncident], catalog: Catalog, encoder: QueryEncoder, path: Path, progress: Report
) -> None:
    """Train on the incidents with an accepted query, and write the trees as ONNX to ``path``."""
    rng = np.random.default_rng(0)
    rows: list[Floats] = []
    grades: list[Floats] = []
    for done, labelled in enumerate(incidents):
        progress("read what trees learn from", done, 0)
        for matches, graded in _examples(labelled, catalog, encoder):
            chosen = _chosen(matches, graded, rng)
            rows.append(matches[chosen])
            grades.append(graded[chosen])
    if not rows:
        raise DatasetError("no training incident has an accepted query among its candidates")
    data = lightgbm.Dataset(
        np.concatenate(rows), np.concatenate(grades), group=[len(r) for r in rows], feature_name=list(TREE_FEATURES)
    )
    write_trees(lightgbm.train(_SETTINGS, data, TREES).dump_model(), path)


def _examples(labelled: LabelledIncident, catalog: Catalog, encoder: QueryEncoder) -> Iterable[tuple[Floats, Floats]]:
    record = labelled.record
    queries = record.candidates or candidates(labelled.catalog or catalog, inventory(record.evidence))
    known = labelled.grades
    grades = np.array([known.get((q.template.id, q.bindings), 0) for q in queries], dtype=np.float32)
    if not grades.any():
        return
    blank = np.zeros(encoder.text.dimension, dtype=np.float32)
    reports = sorted((r.text for r in record.reports), key=lambda text: hashlib.sha256(text.encode()).digest())[:REPORTS]
    for said in reports or [""]:
        vector = encoder.text.encode([said])[0] if said else blank
        yield encoder.encode(record.incident(said), queries, vector).matches, grades


def _chosen(matches: Floats, grades: Floats, rng: np.random.Generator) -> np.ndarray:
    unusual = [np.argsort(-matches[:, column], kind="stable")[:KEPT] for column in (_READ, _WORDS)]
    return np.unique(np.concatenate([np.flatnonzero(grades), *unusual, rng.permutation(len(matches))[: KEPT * 5 // 2]]))


_NODE = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_modes",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
)
_TARGET = ("target_treeids", "target_nodeids", "target_ids", "target_weights")


@dataclass
class _Nodes:
    """The attributes of an ONNX tree ensemble, node by node."""

    nodes: dict[str, list[Any]] = field(default_factory=lambda: {n: [] for n in _NODE})
    targets: dict[str, list[Any]] = field(default_factory=lambda: {n: [] for n in _TARGET})

    def add(self, tree: int, node: dict[str, Any], number: int) -> int:
        """Add a node and what is below it; returns the next free number."""
        leaf = "leaf_value" in node
        row = {
            "nodes_treeids": tree,
            "nodes_nodeids": number,
            "nodes_featureids": 0 if leaf else node["split_feature"],
            "nodes_modes": "LEAF" if leaf else "BRANCH_LEQ",
            "nodes_values": 0.0 if leaf else float(node["threshold"]),
            "nodes_truenodeids": 0,
            "nodes_falsenodeids": 0,
        }
        at = len(self.nodes["nodes_treeids"])
        for name, value in row.items():
            self.nodes[name].append(value)
        if leaf:
            for name, value in zip(_TARGET, (tree, number, 0, float(node["leaf_value"])), strict=True):
                self.targets[name].append(value)
            return number + 1
        self.nodes["nodes_truenodeids"][at] = number + 1
        self.nodes["nodes_falsenodeids"][at] = after = self.add(tree, node["left_child"], number + 1)
        return self.add(tree, node["right_child"], after)


def write_trees(model: dict[str, Any], path: Path) -> None:
    """Write LightGBM's dump of a model as one ONNX ``TreeEnsembleRegressor``."""
    found = _Nodes()
    for number, tree in enumerate(model["tree_info"]):
        found.add(number, tree["tree_structure"], 0)
    attributes: dict[str, Any] = {"n_targets": 1, **found.nodes, **found.targets}
    node = helper.make_node("TreeEnsembleRegressor", [INPUT], [OUTPUT], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["queries", len(TREE_FEATURES)])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["queries", 1])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)])
    made.ir_version = 9
    checker.check_model(made)
    save(made, str(path))
