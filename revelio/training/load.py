"""Torch networks from a model folder, to continue training. A model folder holds weights as ONNX only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from revelio.encoders.query import COMPONENT, FEATURES
from revelio.errors import ArtifactError
from revelio.ranker.artifact import RANKER_WEIGHTS, load_manifest
from revelio.training.network import Network

_BIAS_FREE = ("beside", "value_bilinear", "value_read", "template_bilinear", "tool_bilinear")
"""Layers without a bias in the order of their use: the export transposes their weights and drops their names."""


def load_networks(folder: Path) -> tuple[Network, ...]:
    """The members of the ensemble in a model folder; ``ArtifactError`` when they cannot be read from it."""
    load_manifest(folder)
    path = folder / RANKER_WEIGHTS
    try:
        initializers = onnx.load(str(path)).graph.initializer
        named = {i.name: _tensor(i) for i in initializers if i.name.startswith("members.")}
        unnamed = [_tensor(i) for i in initializers if i.name.startswith("onnx::MatMul")]
        count = 1 + max(int(name.split(".")[1]) for name in named)
        size = len(_BIAS_FREE)
        return tuple(_network(named, unnamed[n * size : (n + 1) * size], n) for n in range(count))
    except Exception as error:  # onnx raises errors of protobuf, torch its own
        raise ArtifactError(f"{path}: training cannot continue from it: {error}") from error


def _network(named: dict[str, Tensor], unnamed: list[Tensor], number: int) -> Network:
    prefix = f"members.{number}."
    state = {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}
    state |= {f"{layer}.weight": weight.T.contiguous() for layer, weight in zip(_BIAS_FREE, unnamed, strict=True)}
    network = Network(state["project_text.weight"].shape[1], len(FEATURES), len(COMPONENT))
    seen = {name: value for name, value in network.state_dict().items() if name.endswith("_seen")}
    network.load_state_dict(state | seen)
    return network


def _tensor(initializer: onnx.TensorProto) -> Tensor:
    return torch.from_numpy(np.array(numpy_helper.to_array(initializer)))
